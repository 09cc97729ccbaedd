//! Which transaction used a pair, found by reading ledgers.

use serde::Deserialize;
use serde_json::json;

use crate::domain::classify::Fault;
use crate::domain::codes::{Failure, TxCode};
use crate::domain::ids::Pair;
use crate::stellar::inspect::{Inspected, inspect};
use crate::stellar::outcome;

use super::Rpc;
use super::calls::Method;
use super::wire::{Health, Params, list};

/// Transactions asked for at once. The RPC gives up to 200, but with their meta those may outgrow the largest answer.
const PAGE_TRANSACTIONS: usize = 100;
/// Most pages read at once, some 30 full ledgers: callers split longer ranges.
const MAX_PAGES: usize = 100;
/// What the RPC answers to a ledger outside what it keeps.
const OUT_OF_RANGE: Fault = Fault::Rpc(-32600);

/// What a scan for a pair's consumer came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// It was seen.
    Found(Box<Consumed>),
    /// It was not seen.
    NotSeen {
        /// Whether every ledger of the range was read whole. Otherwise nothing is known.
        covered: bool,
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
struct Answer {
    #[serde(deserialize_with = "list")]
    transactions: Vec<Item>,
    latest_ledger: u32,
    oldest_ledger: u32,
    cursor: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    status: String,
    ledger: u32,
    envelope_xdr: String,
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

impl Rpc {
    /// Reads the transactions of ledgers `from` to `to`, both included, for the one that used the pair.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer.
    pub async fn consumer(&self, pair: Pair, from: u32, to: u32) -> Result<Consumer, Fault> {
        match self.scan(pair, from, to).await {
            Err(OUT_OF_RANGE) => {}
            scanned => return scanned,
        }
        let health: Health = self.call(Method::GetHealth, Params::none()).await?;
        if from > health.latest_ledger || to < health.oldest_ledger {
            return Ok(Consumer::NotSeen { covered: false });
        }
        // The node keeps a part of the range: the transaction may be there, but its absence means nothing.
        match self.scan(pair, health.oldest_ledger.max(from), to).await? {
            found @ Consumer::Found(_) => Ok(found),
            Consumer::NotSeen { .. } => Ok(Consumer::NotSeen { covered: false }),
        }
    }

    async fn scan(&self, pair: Pair, start: u32, to: u32) -> Result<Consumer, Fault> {
        let mut covered = true;
        let mut params = json!({ "startLedger": start });
        for _ in 0..MAX_PAGES {
            let answer = self.page(params).await?;
            match self.search(pair, to, &answer) {
                Verdict::Found(consumed) => return Ok(Consumer::Found(consumed)),
                Verdict::Not { whole, past } => {
                    covered &= whole && answer.oldest_ledger <= start;
                    if past {
                        return Ok(Consumer::NotSeen { covered });
                    }
                }
            }
            if answer.transactions.is_empty() {
                let covered = covered && answer.latest_ledger >= to;
                return Ok(Consumer::NotSeen { covered });
            }
            params = json!({ "pagination": { "cursor": answer.cursor } });
        }
        Ok(Consumer::NotSeen { covered: false })
    }

    /// Every transaction from ledger `from` on that can be read, in ledger order.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer, also when the node no longer keeps that ledger.
    pub async fn transactions_from(&self, from: u32) -> Result<Vec<Consumed>, Fault> {
        let mut all = Vec::new();
        let mut params = json!({ "startLedger": from });
        loop {
            let answer = self.page(params).await?;
            if answer.transactions.is_empty() {
                return Ok(all);
            }
            all.extend(answer.transactions.iter().filter_map(|item| {
                let inspected = inspect(&self.network, &item.envelope_xdr).ok()?;
                Some(consumed(item, inspected))
            }));
            params = json!({ "pagination": { "cursor": answer.cursor } });
        }
    }

    async fn page(&self, mut params: serde_json::Value) -> Result<Answer, Fault> {
        params["pagination"]["limit"] = json!(PAGE_TRANSACTIONS);
        self.call(Method::GetTransactions, Params(params)).await
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

fn consumed(item: &Item, inspected: Inspected) -> Consumed {
    Consumed {
        inspected,
        ledger: item.ledger,
        success: item.status == "SUCCESS",
    }
}

/// A transaction that failed for its sequence or its account is in the ledger without having used the pair.
fn uses_sequence(item: &Item) -> bool {
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
