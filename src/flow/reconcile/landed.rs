//! What the treasury's events name: one call a ledger confirms every payment that landed in it.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::evidence;
use crate::domain::classify::Fault;
use crate::domain::ids::TxHash;
use crate::domain::operation::Operation;
use crate::domain::submission::{Event, Status};
use crate::flow::accept;
use crate::flow::chain::Chain;
use crate::ledger::{Attempt, Change, Lease, Submission};
use crate::stellar::effect;
use crate::stellar::keyring::Identity;
use crate::stellar::rpc::{EventCursor, Landed, Rpc, Seen, Watch};

/// Ledgers for which events are kept: a row recorded by another process may be read after its payment has landed.
const KEPT_LEDGERS: u32 = 20;
/// Pages read in one look; the next look goes on from there.
const MOST_PAGES: usize = 20;
/// Events that have not moved on for so long are not waited for: hashes are looked up instead.
const PATIENCE: Duration = Duration::from_secs(10);

/// Recent effects of the treasury, by transaction.
#[derive(Default)]
pub(super) struct Landings {
    cursor: Option<EventCursor>,
    /// The last ledger whose events were read, and when it became that.
    read_to: Option<(u32, Instant)>,
    /// What was under way in the last pass: an issuing treasury's payments are found by their assets.
    under_way: Vec<Operation>,
    by_hash: HashMap<TxHash, Vec<Landed>>,
    by_ledger: BTreeMap<u32, Vec<TxHash>>,
}

impl Landings {
    /// Reads on from where the last look ended.
    ///
    /// The first look starts at the last ledger: whatever landed earlier is found by look-ups of its hash.
    pub(super) async fn poll(
        &mut self,
        rpc: &Rpc,
        identity: &Identity,
        chain: &Chain,
    ) -> Result<Seen, Fault> {
        let watch = Watch::over(&identity.network, identity.treasury, &self.under_way);
        let mut seen = None;
        for _ in 0..MOST_PAGES {
            let cursor = match self.cursor.clone() {
                Some(cursor) => cursor,
                None => EventCursor::Start(rpc.latest().await?.ledger),
            };
            let page = match rpc.effects_since(&cursor, &watch).await {
                Ok(page) => page,
                Err(fault) => {
                    self.lost(fault);
                    return Err(fault);
                }
            };
            chain.observe(page.seen);
            seen = Some(page.seen);
            self.cursor = Some(page.cursor);
            self.keep(page.effects);
            if !page.full {
                self.advance(page.seen.ledger);
                break;
            }
        }
        seen.ok_or(Fault::Malformed)
    }

    /// Nothing is waited for until events are told again.
    fn lost(&mut self, fault: Fault) {
        self.read_to = None;
        match fault {
            // The cursor may have left the node's history: start over rather than ask the same for ever.
            Fault::Rpc(_) | Fault::Malformed | Fault::UnknownStatus => self.cursor = None,
            Fault::Connect | Fault::Reset | Fault::Timeout | Fault::Http(_) => {}
        }
    }

    fn advance(&mut self, ledger: u32) {
        if self.read_to.is_none_or(|(last, _)| ledger > last) {
            self.read_to = Some((ledger, Instant::now()));
        }
    }

    /// Whether the next looks will read that ledger's events, so that looking a hash up would be a wasted call.
    pub(super) fn will_tell(&self, ledger: u32) -> bool {
        self.read_to
            .is_some_and(|(last, since)| ledger > last && since.elapsed() < PATIENCE)
    }

    fn keep(&mut self, landings: Vec<Landed>) {
        for landing in landings {
            self.by_ledger
                .entry(landing.ledger)
                .or_default()
                .push(landing.hash);
            self.by_hash.entry(landing.hash).or_default().push(landing);
        }
        let newest = self
            .by_ledger
            .last_key_value()
            .map_or(0, |(ledger, _)| *ledger);
        let kept = self
            .by_ledger
            .split_off(&newest.saturating_sub(KEPT_LEDGERS));
        for hash in std::mem::replace(&mut self.by_ledger, kept)
            .into_values()
            .flatten()
        {
            self.by_hash.remove(&hash);
        }
    }

    /// Splits leases into those whose expected effect was seen, as transitions, and the rest.
    pub(super) fn settle(
        &mut self,
        identity: &Identity,
        leases: Vec<Lease>,
    ) -> (Vec<Change>, Vec<Lease>) {
        let mut changes = Vec::new();
        let mut open = Vec::new();
        self.under_way.clear();
        for lease in leases {
            let Some(operation) = operation_in_flight(&lease.submission) else {
                open.push(lease);
                continue;
            };
            match self.success(identity, &lease, &operation) {
                Some(change) => changes.push(change),
                None => open.push(lease),
            }
            self.under_way.push(operation);
        }
        (changes, open)
    }

    fn success(&self, identity: &Identity, lease: &Lease, operation: &Operation) -> Option<Change> {
        let expected = effect::expected(&identity.network, identity.treasury, operation);
        lease.attempts.iter().find_map(|attempt| {
            let landings = self.by_hash.get(&attempt.envelope.hash)?;
            let landing = landings.iter().find(|landing| landing.effect == expected)?;
            Some(confirmed(lease, attempt, landing))
        })
    }
}

/// What a row with a live envelope is to do.
fn operation_in_flight(submission: &Submission) -> Option<Operation> {
    match submission.state.status {
        Status::Submitted | Status::Confirming => accept::operation_of(&submission.payload).ok(),
        Status::Pending
        | Status::Building
        | Status::Confirmed
        | Status::Failed
        | Status::Cancelled
        | Status::Simulated => None,
    }
}

fn confirmed(lease: &Lease, attempt: &Attempt, landing: &Landed) -> Change {
    Change {
        evidence: Some(evidence::landed(landing)),
        tx_hash: Some(attempt.envelope.hash),
        ..Change::new(&lease.submission, Event::Succeeded, "reconciler")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::AccountId;
    use crate::stellar::effect::{Effect, Movement};

    fn landing(ledger: u32, hash: u8) -> Landed {
        let account = AccountId([1; 32]);
        let effect = Effect {
            contract: [0; 32],
            movement: Movement::Mint { to: account },
            amount: "1".parse().expect("an amount"),
        };
        Landed {
            hash: TxHash([hash; 32]),
            effect,
            ledger,
            closed_at: u64::from(ledger),
        }
    }

    #[test]
    fn effects_of_old_ledgers_are_forgotten() {
        let mut landed = Landings::default();
        landed.keep(vec![landing(10, 1), landing(10, 2)]);
        landed.keep(vec![landing(30, 3)]);
        assert_eq!(landed.by_hash.len(), 3, "within the kept ledgers");
        landed.keep(vec![landing(31, 4)]);
        let mut kept: Vec<_> = landed.by_hash.keys().map(|hash| hash.0[0]).collect();
        kept.sort_unstable();
        assert_eq!(kept, [3, 4]);
    }

    #[test]
    fn only_ledgers_that_are_about_to_be_read_are_waited_for() {
        let mut landed = Landings::default();
        assert!(!landed.will_tell(11), "nothing was read yet");
        landed.advance(10);
        assert!(landed.will_tell(11));
        assert!(!landed.will_tell(10), "its events are known");
        let (ledger, since) = landed.read_to.expect("a ledger");
        landed.read_to = since.checked_sub(PATIENCE).map(|since| (ledger, since));
        landed.advance(10);
        assert!(!landed.will_tell(11), "the node's events stand still");
    }
}
