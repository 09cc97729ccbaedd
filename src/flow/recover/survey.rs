//! Who used the sequences that a ledger which was set back knows nothing of.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::json;

use super::evidence;
use crate::domain::classify::Fault;
use crate::domain::ids::{AccountId, Pair, TxHash};
use crate::domain::memory::{RecoveredKind, gaps};
use crate::domain::plan::{AccountState, Effect, Finding};
use crate::flow::chain::Chain;
use crate::flow::fresh::{self, NotFresh};
use crate::flow::{accept, memory};
use crate::ledger::{Ledger, LedgerError, Memory, Recovered};
use crate::stellar::effect;
use crate::stellar::keyring::Identity;
use crate::stellar::rpc::{Consumed, Rpc};

/// Why consumers could not be identified now. A later look may be able to.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A node did not answer.
    #[error("the network did not answer: {}", .0.code())]
    Network(Fault),
    /// An index lags.
    #[error("the network does not tell yet who used a channel account")]
    NotTold,
    /// Nodes lag.
    #[error(transparent)]
    NotFresh(#[from] NotFresh),
}

impl From<Fault> for SurveyError {
    fn from(fault: Fault) -> Self {
        Self::Network(fault)
    }
}

/// What identifying stands on.
#[derive(Clone, Copy)]
pub struct Identify<'a> {
    /// The ledger.
    pub ledger: &'a Ledger,
    /// The nodes.
    pub rpc: &'a Rpc,
    /// Whose payments.
    pub identity: &'a Identity,
}

/// What the chain tells of the accounts of the pool.
#[derive(Debug, Default)]
pub struct Survey {
    /// Sequence numbers of the accounts.
    pub seq_nums: HashMap<AccountId, i64>,
    /// Transactions that the ledger did not know, by what they were.
    pub found: Vec<Recovered>,
    /// Sequences whose consumer cannot be told, and why.
    pub unexplained: Vec<Unexplained>,
}

/// Sequences whose consumer cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// Of that account.
    pub account: AccountId,
    /// First to last.
    pub sequences: RangeInclusive<i64>,
    /// Why.
    pub why: &'static str,
}

impl Survey {
    /// Whether the ledger knows all that the chain has used.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.found.is_empty() && self.unexplained.is_empty()
    }
}

/// An account, and the sequences of it whose consumers the ledger may not know.
struct Moved {
    account: AccountId,
    used: RangeInclusive<i64>,
    missing: Vec<RangeInclusive<i64>>,
}

impl Identify<'_> {
    /// Identifies the consumer of every sequence that accounts of the pool, and those others, have used beyond what the
    /// ledger knows.
    ///
    /// # Errors
    /// [`SurveyError`].
    pub async fn survey(
        &self,
        memory: &Memory,
        chain: &Arc<Chain>,
        others: &[AccountId],
    ) -> Result<Survey, SurveyError> {
        memory::ask_all(self.rpc, chain).await?;
        let mut survey = Survey::default();
        let moved = self.moved(chain, others, &mut survey).await?;
        if moved.iter().all(|account| account.missing.is_empty()) {
            return Ok(survey);
        }
        let mut known = HashSet::new();
        for account in &moved {
            let first = Pair {
                account: account.account,
                sequence: *account.used.start(),
            };
            for attempt in self.ledger.attempts_from(first).await? {
                known.insert(attempt.envelope.hash);
                known.extend(attempt.envelope.inner_hash);
            }
        }
        let to = chain.latest().map_or(0, |seen| seen.ledger);
        let consumers = self.read(&moved, self.begins(memory).await?, to).await?;
        for account in &moved {
            self.explain(account, &consumers, &known, &mut survey)
                .await?;
        }
        Ok(survey)
    }

    async fn moved(
        &self,
        chain: &Chain,
        others: &[AccountId],
        survey: &mut Survey,
    ) -> Result<Vec<Moved>, SurveyError> {
        let pool = self.ledger.channels().await?;
        let next: HashMap<_, _> = pool
            .iter()
            .map(|channel| (channel.account, channel.next_sequence))
            .collect();
        let strangers = others.iter().filter(|account| !next.contains_key(*account));
        let accounts: Vec<_> = next.keys().chain(strangers).copied().collect();
        let mut explained: HashMap<AccountId, BTreeSet<i64>> = HashMap::new();
        for Pair { account, sequence } in self.ledger.recovered().await?.iter().map(|it| it.pair) {
            explained.entry(account).or_default().insert(sequence);
        }
        let mut moved = Vec::new();
        if accounts.is_empty() {
            return Ok(moved);
        }
        let none = BTreeSet::new();
        for (account, state) in fresh::accounts(self.rpc, chain, &accounts).await? {
            let explained = explained.get(&account).unwrap_or(&none);
            let used = match (next.get(&account), state) {
                (Some(next), AccountState::Present { sequence, .. }) => *next..=sequence,
                // In no pool that is left: all of its life counts.
                (None, AccountState::Present { sequence, .. }) => first_of(sequence)..=sequence,
                (None, AccountState::Absent) => continue,
                (Some(next), AccountState::Absent) => {
                    let sequences = *next..=*next;
                    if !explained.contains(next) {
                        let why = "the account does not exist any more";
                        survey.unexplained.push(Unexplained {
                            account,
                            sequences,
                            why,
                        });
                    }
                    continue;
                }
            };
            survey
                .seq_nums
                .extend(state.sequence().map(|seq_num| (account, seq_num)));
            let missing = gaps(used.clone(), explained);
            moved.push(Moved {
                account,
                used,
                missing,
            });
        }
        Ok(moved)
    }

    /// The first ledger that may hold a transaction that was forgotten; none if that is not known.
    async fn begins(&self, memory: &Memory) -> Result<Option<u32>, LedgerError> {
        let leases = self.ledger.leases().await?;
        let sent = leases.iter().flat_map(|lease| &lease.attempts);
        let sent = sent.map(|attempt| attempt.sent_after_ledger).min();
        Ok(memory
            .read_from
            .map(|passed| sent.map_or(passed, |sent| sent.min(passed))))
    }

    /// Reads what the nodes keep, from that ledger on and then from their oldest, until every consumer was seen.
    async fn read(
        &self,
        moved: &[Moved],
        begins: Option<u32>,
        to: u32,
    ) -> Result<HashMap<Pair, Consumed>, SurveyError> {
        let accounts = moved.iter().filter(|account| !account.missing.is_empty());
        let accounts: HashSet<_> = accounts.map(|account| account.account).collect();
        let (mut seen, mut fault) = (HashMap::new(), None);
        for from in [begins, Some(0)].into_iter().flatten() {
            for node in self.rpc.each_node() {
                if let Err(no_answer) = read_node(&node, &accounts, (from, to), &mut seen).await {
                    fault = Some(no_answer);
                }
                if moved.iter().all(|account| account.is_covered(&seen)) {
                    return Ok(seen);
                }
            }
        }
        match fault {
            // The one that keeps its answer back may have seen what the others have not.
            Some(fault) => Err(fault.into()),
            None => Ok(seen),
        }
    }

    async fn explain(
        &self,
        moved: &Moved,
        consumers: &HashMap<Pair, Consumed>,
        known: &HashSet<TxHash>,
        survey: &mut Survey,
    ) -> Result<(), SurveyError> {
        let account = moved.account;
        for sequences in &moved.missing {
            let seen = consumers.keys().filter(|pair| pair.account == account);
            let seen = seen.map(|pair| pair.sequence);
            let seen: BTreeSet<_> = seen.filter(|it| sequences.contains(it)).collect();
            for sequences in gaps(sequences.clone(), &seen) {
                let why = "no node's history shows who used it";
                survey.unexplained.push(Unexplained {
                    account,
                    sequences,
                    why,
                });
            }
            for sequence in seen {
                let consumer = &consumers[&Pair { account, sequence }];
                let inspected = &consumer.inspected;
                let hashes = [Some(inspected.hash), inspected.inner_hash];
                if hashes.iter().flatten().any(|hash| known.contains(hash)) {
                    continue;
                }
                match self.classify(consumer).await? {
                    Ok(found) => survey.found.push(found),
                    Err(why) => survey.unexplained.push(Unexplained {
                        account,
                        sequences: sequence..=sequence,
                        why,
                    }),
                }
            }
        }
        Ok(())
    }

    /// What a transaction was, or why that cannot be told.
    async fn classify(
        &self,
        consumer: &Consumed,
    ) -> Result<Result<Recovered, &'static str>, SurveyError> {
        let inspected = &consumer.inspected;
        let of_kind = |kind| Recovered {
            pair: inspected.pair,
            kind,
            tag: inspected.tag,
            hash: Some(inspected.hash),
            ledger: Some(consumer.ledger),
            operation: None,
            evidence: evidence(consumer),
        };
        if !inspected.acting.contains(&self.identity.treasury) {
            return Ok(Ok(of_kind(RecoveredKind::Foreign)));
        }
        if !consumer.success {
            return Ok(Ok(of_kind(RecoveredKind::Failed)));
        }
        let (Some(_), Some((payer, operation))) = (inspected.tag, &inspected.operation) else {
            return Ok(Err("the treasury paid, and no key can be told from it"));
        };
        let effect = effect::expected(&self.identity.network, *payer, operation);
        let lookup = self.rpc.transaction(inspected.hash, &effect).await?;
        Ok(match lookup.finding {
            Finding::Success(Effect::Matched) => Ok(Recovered {
                operation: Some(accept::operation_json(operation)),
                evidence: json!({
                    "proof": "event",
                    "ledger": consumer.ledger,
                    "closed_at": lookup.closed_at.map(|at| at.to_string()),
                    "tx_hash": inspected.hash.to_string(),
                }),
                ..of_kind(RecoveredKind::Paid)
            }),
            Finding::Success(Effect::Missing) => {
                Err("it succeeded without the event of its payment")
            }
            Finding::Success(Effect::Unknown)
            | Finding::Failed(_)
            | Finding::NotFound
            | Finding::Unknown => Err("it succeeded, and no node tells its event"),
        })
    }
}

impl Moved {
    fn is_covered(&self, seen: &HashMap<Pair, Consumed>) -> bool {
        let seen = seen.keys().filter(|pair| pair.account == self.account);
        let seen: BTreeSet<_> = seen.map(|pair| pair.sequence).collect();
        let mut missing = self.missing.iter();
        missing.all(|sequences| gaps(sequences.clone(), &seen).is_empty())
    }
}

/// An account that is created at ledger n starts at n * 2^32.
fn first_of(seq_num: i64) -> i64 {
    (seq_num & !0xffff_ffff) + 1
}

pub(super) async fn read_node(
    node: &Rpc,
    accounts: &HashSet<AccountId>,
    (from, to): (u32, u32),
    seen: &mut HashMap<Pair, Consumed>,
) -> Result<(), Fault> {
    let mut next = from.max(node.oldest_ledger().await?);
    while next <= to {
        let history = node.history_of(accounts, next, to).await?;
        for consumer in history.found {
            seen.entry(consumer.inspected.pair).or_insert(consumer);
        }
        if history.read_to < next {
            break;
        }
        next = history.read_to.saturating_add(1);
    }
    Ok(())
}
