//! Who used an account that nothing was known to use, while the ledger still decides: is that a loss of memory?

use std::collections::{BTreeSet, HashMap, HashSet};

use super::survey::read_node;
use super::{Identify, SurveyError};
use crate::domain::ids::{Pair, TxHash};
use crate::ledger::LedgerError;
use crate::stellar::rpc::{Consumed, Consumer};

/// Ledgers before the last pass that are read for an account that somebody used.
const LOOK_BACK: u32 = 100;

/// Whose a transaction is that used a channel account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) enum Whose {
    /// Ours: an envelope of it was recorded.
    Recorded,
    /// It acts in the treasury's name, and none was recorded.
    Forgotten,
    /// It does not.
    Foreign(TxHash),
}

/// An account's last sequence and the ledger in which it was used, as the account names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) struct LastUse {
    /// The account and its sequence.
    pub(in crate::flow) pair: Pair,
    /// The ledger.
    pub(in crate::flow) ledger: u32,
}

/// The transaction that used an account's last sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) enum Sighted {
    /// It was seen.
    Seen(Whose),
    /// An index lags.
    NotSeen,
    /// No node's history reaches back to it.
    BeyondReach,
}

impl Identify<'_> {
    /// Who used an account's last sequence.
    pub(in crate::flow) async fn sight(&self, last: LastUse) -> Result<Sighted, SurveyError> {
        let LastUse { pair, ledger } = last;
        let mut within_reach = false;
        for node in self.rpc.each_node() {
            let seen = match node.consumer(pair, ledger, ledger).await? {
                Consumer::Found(seen) => seen,
                Consumer::NotSeen { whole, .. } => {
                    within_reach |= whole;
                    continue;
                }
            };
            return Ok(Sighted::Seen(self.whose(&seen).await?));
        }
        Ok(if within_reach {
            Sighted::NotSeen
        } else {
            Sighted::BeyondReach
        })
    }

    /// Whether one of those sequences of an account was used by a transaction that the ledger may have forgotten. The
    /// last one is none of them.
    pub(in crate::flow) async fn has_forgotten_any(
        &self,
        last: LastUse,
        sequences: &BTreeSet<i64>,
    ) -> Result<bool, SurveyError> {
        if sequences.is_empty() {
            return Ok(false);
        }
        let Some(seen) = self.of_late(last).await? else {
            return Err(SurveyError::NotTold);
        };
        for sequence in sequences.iter().copied() {
            let Some(seen) = seen.get(&Pair {
                sequence,
                ..last.pair
            }) else {
                return Ok(true);
            };
            if self.whose(seen).await? == Whose::Forgotten {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The transactions that used an account's sequences since some time before the last pass, by any node. `None`: no
    /// node shows who used the last one, so that of one before it may be missing only because indexes lag.
    pub(in crate::flow) async fn of_late(
        &self,
        last: LastUse,
    ) -> Result<Option<HashMap<Pair, Consumed>>, SurveyError> {
        let passed = self.ledger.progress().await?;
        let passed = passed.map_or(0, |passed| passed.pass.ledger.min(last.ledger));
        let range = (passed.saturating_sub(LOOK_BACK), last.ledger);
        let (accounts, mut seen) = (HashSet::from([last.pair.account]), HashMap::new());
        let mut told = false;
        for node in self.rpc.each_node() {
            let mut shown = HashMap::new();
            read_node(&node, &accounts, range, &mut shown).await?;
            told |= shown.contains_key(&last.pair);
            seen.extend(shown);
        }
        Ok(told.then_some(seen))
    }

    /// Whose a transaction is that was seen.
    pub(in crate::flow) async fn whose(&self, seen: &Consumed) -> Result<Whose, LedgerError> {
        let hashes = [Some(seen.inspected.hash), seen.inspected.inner_hash];
        for hash in hashes.into_iter().flatten() {
            if self.ledger.by_hash(hash).await?.is_some() {
                return Ok(Whose::Recorded);
            }
        }
        Ok(if seen.inspected.acting.contains(&self.identity.treasury) {
            Whose::Forgotten
        } else {
            Whose::Foreign(seen.inspected.hash)
        })
    }
}
