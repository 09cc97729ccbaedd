//! What the treasury's events name: one call a ledger confirms every payment that landed in it.

use std::collections::{BTreeMap, HashMap};

use super::evidence;
use crate::domain::classify::Fault;
use crate::domain::ids::{AccountId, TxHash};
use crate::domain::submission::{Event, Status};
use crate::flow::accept;
use crate::flow::chain::Chain;
use crate::ledger::{Attempt, Change, Lease};
use crate::stellar::effect::{self, Effect};
use crate::stellar::keyring::Identity;
use crate::stellar::rpc::{EventCursor, Landing, Rpc, Seen};

/// Ledgers for which events are kept: a row recorded by another process may be read after its payment has landed.
const KEPT_LEDGERS: u32 = 20;
/// Pages read in one look; the next look goes on from there.
const MOST_PAGES: usize = 20;

/// Recent effects of the treasury, by transaction.
#[derive(Default)]
pub(super) struct Landed {
    cursor: Option<EventCursor>,
    by_hash: HashMap<TxHash, Vec<Landing>>,
    by_ledger: BTreeMap<u32, Vec<TxHash>>,
}

impl Landed {
    /// Reads on from where the last look ended.
    ///
    /// The first look starts at the last ledger: whatever landed earlier is found by look-ups of its hash.
    pub(super) async fn poll(&mut self, rpc: &Rpc, treasury: AccountId, chain: &Chain) -> Result<Seen, Fault> {
        let mut seen = None;
        for _ in 0..MOST_PAGES {
            let cursor = match self.cursor.clone() {
                Some(cursor) => cursor,
                None => EventCursor::Start(rpc.latest().await?.ledger),
            };
            let page = match rpc.effects_since(&cursor, treasury).await {
                Ok(page) => page,
                Err(fault) => {
                    // The cursor may have left the node's history: start over rather than ask the same for ever.
                    self.cursor = None;
                    return Err(fault);
                }
            };
            chain.observe(page.seen);
            seen = Some(page.seen);
            self.cursor = Some(page.cursor);
            let last = page.effects.is_empty();
            self.keep(page.effects);
            if last || !page.more {
                break;
            }
        }
        seen.ok_or(Fault::Malformed)
    }

    fn keep(&mut self, landings: Vec<Landing>) {
        for landing in landings {
            self.by_ledger.entry(landing.ledger).or_default().push(landing.hash);
            self.by_hash.entry(landing.hash).or_default().push(landing);
        }
        let newest = self.by_ledger.last_key_value().map_or(0, |(ledger, _)| *ledger);
        let kept = self.by_ledger.split_off(&newest.saturating_sub(KEPT_LEDGERS));
        for hash in std::mem::replace(&mut self.by_ledger, kept).into_values().flatten() {
            self.by_hash.remove(&hash);
        }
    }

    /// Splits leases into those whose expected effect was seen, as transitions, and the rest.
    pub(super) fn settle(&self, identity: &Identity, leases: Vec<Lease>) -> (Vec<Change>, Vec<Lease>) {
        let mut changes = Vec::new();
        let mut open = Vec::new();
        for lease in leases {
            match self.success(identity, &lease) {
                Some(change) => changes.push(change),
                None => open.push(lease),
            }
        }
        (changes, open)
    }

    fn success(&self, identity: &Identity, lease: &Lease) -> Option<Change> {
        let submission = &lease.submission;
        match submission.state.status {
            Status::Submitted | Status::Confirming => {}
            Status::Pending
            | Status::Building
            | Status::Confirmed
            | Status::Failed
            | Status::Cancelled
            | Status::Simulated => return None,
        }
        let (attempt, landings) = lease.attempts.iter().find_map(|attempt| {
            let landings = self.by_hash.get(&attempt.envelope.hash)?;
            Some((attempt, landings))
        })?;
        let operation = accept::operation_of(&submission.payload).ok()?;
        let expected = effect::expected(&identity.network, identity.treasury, &operation);
        let landing = landings.iter().find(|landing| landing.effect == expected)?;
        Some(confirmed(lease, attempt, landing))
    }
}

fn confirmed(lease: &Lease, attempt: &Attempt, landing: &Landing) -> Change {
    Change {
        evidence: Some(evidence::landed(landing)),
        tx_hash: Some(attempt.envelope.hash),
        ..Change::new(&lease.submission, Event::Succeeded, "reconciler")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landing(ledger: u32, hash: u8) -> Landing {
        Landing { hash: TxHash([hash; 32]), effect: Effect::unmatched(), ledger, closed_at: u64::from(ledger) }
    }

    #[test]
    fn effects_of_old_ledgers_are_forgotten() {
        let mut landed = Landed::default();
        landed.keep(vec![landing(10, 1), landing(10, 2)]);
        landed.keep(vec![landing(30, 3)]);
        assert_eq!(landed.by_hash.len(), 3, "within the kept ledgers");
        landed.keep(vec![landing(31, 4)]);
        let mut kept: Vec<_> = landed.by_hash.keys().map(|hash| hash.0[0]).collect();
        kept.sort_unstable();
        assert_eq!(kept, [3, 4]);
    }
}
