//! Which transaction used a pair, found by reading ledgers.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::classify::Fault;
use crate::domain::codes::{Failure, TxCode};
use crate::domain::ids::Pair;
use crate::stellar::inspect::{Inspected, inspect};
use crate::stellar::outcome;

use super::Rpc;
use super::calls::Method;
use super::nodes;
use super::standing::Shown;
use super::transport::NoAnswer;
use super::wire::{Health, Params, list, optional_number};

/// Transactions asked for at once. The RPC gives up to 200, but with their meta those may outgrow the largest answer; a
/// page that does is asked for again at half its size.
const PAGE_TRANSACTIONS: usize = 100;
/// Pages after which a scan ends, some 30 full ledgers, and the pages it may take to get through one ledger at least.
const MAX_PAGES: usize = 100;
const MAX_PAGES_OF_LEDGER: usize = 2_000;
/// What the RPC answers to a ledger outside what it keeps.
const OUT_OF_RANGE: Fault = Fault::Rpc(-32600);

/// What a scan for a pair's consumer came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// It was seen.
    Found(Box<Consumed>),
    /// It was not seen.
    NotSeen {
        /// How far the scan got: a later one goes on behind this ledger.
        read_to: u32,
        /// Whether every transaction up to there was read. Otherwise its absence from those ledgers means nothing.
        whole: bool,
    },
}

/// A transaction that used a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumed {
    /// What its envelope says, hashes included.
    pub inspected: Inspected,
    /// The ledger it is in.
    pub ledger: u32,
    /// Whether it succeeded.
    pub success: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    #[serde(deserialize_with = "list")]
    pub(super) transactions: Vec<Item>,
    pub(super) latest_ledger: u32,
    #[serde(default, deserialize_with = "optional_number")]
    latest_ledger_close_timestamp: Option<u64>,
    oldest_ledger: u32,
    cursor: String,
}

impl nodes::Answer for Answer {
    fn shown(&self) -> Option<Shown> {
        Some(Shown {
            ledger: self.latest_ledger,
            close_time: self.latest_ledger_close_timestamp,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item {
    status: String,
    pub(super) ledger: u32,
    pub(super) envelope_xdr: String,
    result_xdr: Option<String>,
}

/// What a page says.
enum Verdict {
    Found(Box<Consumed>),
    /// Not on it; `whole` unless something could not be read. `past`: it reached beyond the range.
    Not {
        whole: bool,
        past: bool,
    },
}

/// Pages through transactions, from a ledger on.
pub(super) struct Pages {
    position: Value,
    limit: usize,
}

impl Pages {
    pub(super) fn from(ledger: u32) -> Self {
        Self {
            position: json!({ "startLedger": ledger }),
            limit: PAGE_TRANSACTIONS,
        }
    }

    pub(super) async fn next(&mut self, rpc: &Rpc) -> Result<Answer, Fault> {
        loop {
            let mut params = self.position.clone();
            params["pagination"]["limit"] = json!(self.limit);
            let (method, params) = (Method::GetTransactions, Params(params));
            match rpc.nodes.call(rpc.pinned, method, &params, Ok).await {
                Err(NoAnswer::TooLarge) if self.limit > 1 => self.limit /= 2,
                Err(no_answer) => return Err(no_answer.into()),
                Ok(answer) => {
                    let answer: Answer = answer;
                    self.position = json!({ "pagination": { "cursor": answer.cursor } });
                    return Ok(answer);
                }
            }
        }
    }
}

impl Rpc {
    /// Reads the transactions of ledgers `from` to `to`, both included, for the one that used the pair. All of it is read
    /// from one node. A long range is read in parts: go on behind what was read.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer.
    pub async fn consumer(&self, pair: Pair, from: u32, to: u32) -> Result<Consumer, Fault> {
        let one = self.staying();
        match one.scan(pair, from, to).await {
            Err(OUT_OF_RANGE) => {}
            scanned => return scanned,
        }
        let health: Health = one.call(Method::GetHealth, Params::none(), Ok).await?;
        if from > health.latest_ledger {
            return Ok(Consumer::NotSeen {
                read_to: from.saturating_sub(1),
                whole: true,
            });
        }
        // Unless another replica answered, the node keeps a part of the range, or nothing: the transaction may be there, but
        // its absence means nothing.
        if to < health.oldest_ledger {
            return Ok(Consumer::NotSeen {
                read_to: to,
                whole: false,
            });
        }
        match one.scan(pair, health.oldest_ledger.max(from), to).await? {
            found @ Consumer::Found(_) => Ok(found),
            Consumer::NotSeen { read_to, whole } => Ok(Consumer::NotSeen {
                read_to,
                whole: whole && health.oldest_ledger <= from,
            }),
        }
    }

    async fn scan(&self, pair: Pair, from: u32, to: u32) -> Result<Consumer, Fault> {
        let mut pages = Pages::from(from);
        let (mut read_to, mut whole) = (from.saturating_sub(1), true);
        for page in 0..MAX_PAGES_OF_LEDGER {
            if page >= MAX_PAGES && read_to >= from {
                break;
            }
            let answer = match pages.next(self).await {
                // What was read before stays read.
                Err(_) if read_to >= from => break,
                answer => answer?,
            };
            whole &= answer.oldest_ledger <= read_to.saturating_add(1);
            let Some(last) = answer.transactions.last().map(|item| item.ledger) else {
                read_to = read_to.max(answer.latest_ledger.min(to));
                break;
            };
            match self.search(pair, to, &answer) {
                Verdict::Found(consumed) => return Ok(Consumer::Found(consumed)),
                Verdict::Not { whole: page, past } => {
                    whole &= page;
                    // The next page may go on in the last ledger of this one.
                    read_to = if past {
                        to
                    } else {
                        read_to.max(last.saturating_sub(1))
                    };
                    if past {
                        break;
                    }
                }
            }
        }
        Ok(Consumer::NotSeen { read_to, whole })
    }

    /// Every transaction from ledger `from` on that can be read, in ledger order.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer, also when the node no longer keeps that ledger.
    pub async fn transactions_from(&self, from: u32) -> Result<Vec<Consumed>, Fault> {
        let one = self.staying();
        let mut all = Vec::new();
        let mut pages = Pages::from(from);
        loop {
            let answer = pages.next(&one).await?;
            if answer.transactions.is_empty() {
                return Ok(all);
            }
            all.extend(answer.transactions.iter().filter_map(|item| {
                let inspected = inspect(&self.network, &item.envelope_xdr).ok()?;
                Some(consumed(item, inspected))
            }));
        }
    }

    fn search(&self, pair: Pair, to: u32, answer: &Answer) -> Verdict {
        let mut whole = true;
        for item in &answer.transactions {
            if item.ledger > to {
                return Verdict::Not { whole, past: true };
            }
            match inspect(&self.network, &item.envelope_xdr) {
                Ok(inspected) if inspected.pair == pair && uses_sequence(item) => {
                    return Verdict::Found(Box::new(consumed(item, inspected)));
                }
                Ok(_) => {}
                Err(_) => whole = false,
            }
        }
        Verdict::Not { whole, past: false }
    }
}

pub(super) fn consumed(item: &Item, inspected: Inspected) -> Consumed {
    Consumed {
        inspected,
        ledger: item.ledger,
        success: item.status == "SUCCESS",
    }
}

/// A transaction that failed for its sequence or its account is in the ledger without having used the pair.
pub(super) fn uses_sequence(item: &Item) -> bool {
    let failure = item
        .result_xdr
        .as_deref()
        .and_then(outcome::decode)
        .and_then(|outcome| outcome.failure);
    !matches!(
        failure,
        Some(Failure::Tx(TxCode::BadSeq | TxCode::NoAccount))
    )
}
