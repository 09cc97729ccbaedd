//! Everything that used the sequences of some accounts, found by reading ledgers.

use std::collections::HashSet;

use crate::domain::classify::Fault;
use crate::domain::ids::AccountId;
use crate::stellar::inspect::inspect;

use super::Rpc;
use super::consumer::{Consumed, Pages, consumed, uses_sequence};

/// Pages read at a time: some thousand transactions.
const PAGES: usize = 100;

/// A part of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Transactions that used a sequence of one of the accounts, in ledger order.
    pub found: Vec<Consumed>,
    /// The last ledger that was read to its end: go on behind it.
    pub read_to: u32,
}

impl Rpc {
    /// Reads ledgers from `from` to `to`, both included, or a part of them, for transactions that used a sequence of one of
    /// the accounts. A transaction that cannot be read is left out: its sequence stays unseen.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer, also when the node does not keep `from`.
    pub async fn history_of(
        &self,
        accounts: &HashSet<AccountId>,
        from: u32,
        to: u32,
    ) -> Result<History, Fault> {
        let one = self.staying();
        let mut pages = Pages::from(from);
        let mut history = History {
            read_to: from.saturating_sub(1),
            ..History::default()
        };
        for page in 0.. {
            // A ledger may fill many pages.
            if page >= PAGES && history.read_to >= from {
                break;
            }
            let answer = pages.next(&one).await?;
            let Some(last) = answer.transactions.last().map(|item| item.ledger) else {
                history.read_to = history.read_to.max(answer.latest_ledger.min(to));
                break;
            };
            let within = answer.transactions.iter().filter(|item| item.ledger <= to);
            history.found.extend(within.filter_map(|item| {
                let inspected = inspect(&self.network, &item.envelope_xdr).ok()?;
                let used = accounts.contains(&inspected.pair.account) && uses_sequence(item);
                used.then(|| consumed(item, inspected))
            }));
            if last > to {
                history.read_to = to;
                break;
            }
            history.read_to = history.read_to.max(last.saturating_sub(1));
        }
        Ok(history)
    }
}
