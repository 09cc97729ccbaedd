//! Envelopes that this node does not propose but another one does, later.

use crate::envelope::Submitted;
use crate::faults::Release;
use crate::queue::split_invalid;
use crate::state::LedgerState;
use crate::validate::Judge;
use std::collections::HashSet;
use std::sync::Arc;

/// Most envelopes held at once; further ones take the usual way.
const MAX_HELD: usize = 10_000;
/// Ledgers after which an envelope without bounds gets in.
const LONGEST_UNBOUNDED: u32 = 100;

#[derive(Debug)]
struct Held {
    tx: Arc<Submitted>,
    /// The last closed ledger when it was sent.
    since: u32,
    until: Release,
}

/// The queues of the other nodes.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    held: Vec<Held>,
}

impl Elsewhere {
    /// Holds an envelope back; whether there was room.
    pub fn hold(&mut self, tx: Arc<Submitted>, until: Release, since: u32) -> bool {
        self.held.retain(|held| held.tx.bytes_hash != tx.bytes_hash);
        if self.held.len() >= MAX_HELD {
            return false;
        }
        self.held.push(Held { tx, since, until });
        true
    }

    /// What may go into the next ledger: of this node's transactions those that are not held back, and those that others
    /// propose now, which come before this node's of the same source.
    pub fn join(
        &self,
        waiting: Vec<Arc<Submitted>>,
        judge: &Judge<'_>,
        close_time: u64,
    ) -> Vec<Arc<Submitted>> {
        if self.held.is_empty() {
            return waiting;
        }
        let due = self
            .held
            .iter()
            .filter(|held| held.is_due(judge, close_time));
        let due = due.filter(|held| judge.check(&held.tx).is_success());
        let mut sources = HashSet::new();
        let mut joined: Vec<Arc<Submitted>> = due
            .filter(|held| sources.insert(held.tx.source()))
            .map(|held| Arc::clone(&held.tx))
            .collect();
        let back: HashSet<_> = self.held.iter().map(|held| &held.tx.bytes_hash).collect();
        joined.extend(
            waiting
                .into_iter()
                .filter(|tx| !back.contains(&tx.bytes_hash) && !sources.contains(tx.source())),
        );
        // Together they may bid more than their fee source has.
        split_invalid(joined, judge).0
    }

    /// A ledger has closed: what can be in no later one is forgotten.
    pub fn forget_dead(&mut self, state: &LedgerState, ledger: u32, close_time: u64) {
        self.held.retain(|held| {
            let used = state
                .account(held.tx.source())
                .is_none_or(|account| account.seq_num.0 >= held.tx.sequence());
            let (max_time, max_ledger) = held.bounds();
            let late = max_time.is_some_and(|max| max <= close_time)
                || max_ledger.is_some_and(|max| max <= ledger.saturating_add(1));
            !used && !late
        });
    }
}

impl Held {
    /// Latest close time and first ledger too late, where there are such bounds.
    fn bounds(&self) -> (Option<u64>, Option<u32>) {
        let time = self.tx.time_bounds().map(|bounds| bounds.max_time.0);
        let ledger = self.tx.ledger_bounds().map(|bounds| bounds.max_ledger);
        (time.filter(|max| *max != 0), ledger.filter(|max| *max != 0))
    }

    fn is_due(&self, judge: &Judge<'_>, close_time: u64) -> bool {
        let next = judge.ledger.ledger_seq;
        match self.until {
            Release::After(ledgers) => next > self.since.saturating_add(ledgers),
            Release::LastValid => {
                let step = close_time.saturating_sub(judge.ledger.close_time);
                match self.bounds() {
                    (None, None) => next > self.since.saturating_add(LONGEST_UNBOUNDED),
                    (max_time, max_ledger) => {
                        max_time.is_some_and(|max| max < close_time.saturating_add(step))
                            || max_ledger.is_some_and(|max| max <= next.saturating_add(1))
                    }
                }
            }
        }
    }
}
