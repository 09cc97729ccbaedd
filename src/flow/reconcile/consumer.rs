//! None of our hashes is indexed, but the pair is used: by whom? Not found is not foreign: only a consumer that is seen
//! decides. One in the treasury's name that nobody recorded shows that the ledger was set back.

use super::assess::Snapshot;
use super::look_up::Proof;
use super::scans::Scanned;
use super::{ReconcileError, Reconciler, evidence};
use crate::domain::ids::Pair;
use crate::domain::plan::{AccountState, Conclusion, conclude};
use crate::domain::submission::{Consumer, Event};
use crate::flow::recover::{LastUse, Sighted, Whose};
use crate::ledger::{Attempt, Change, Lease, Submission};
use crate::stellar::effect::Effect;
use crate::stellar::rpc::Consumed;

/// Who used a pair, as far as ledgers were read for it.
enum Identified {
    /// A transaction that is ours by hash.
    Ours(Box<Consumed>),
    /// A transaction in the treasury's name, of which the ledger knows nothing.
    Forgotten(Box<Consumed>),
    /// A transaction that is not ours.
    Foreign(Box<Consumed>),
    /// None was seen, though it may still be: an index lags, a node did not answer, or ledgers are still being read.
    NotYet,
    /// None was seen, and no node's history reaches back to it; the oldest ledger of them all, if they were asked.
    BeyondReach(Option<u32>),
}

impl Reconciler {
    /// Settles a row by the transaction that used its pair.
    pub(super) async fn settle_by_consumer(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        at_ledger: Option<u32>,
        effect: &Effect,
    ) -> Result<bool, ReconcileError> {
        let first_sent = lease
            .attempts
            .iter()
            .map(|attempt| attempt.sent_after_ledger)
            .min()
            .unwrap_or(0);
        let range = at_ledger.map_or((first_sent + 1, snapshot.ledger), |ledger| (ledger, ledger));
        match self
            .consumer_of(&lease.submission, &lease.attempts, range)
            .await?
        {
            Identified::Ours(found) => self.settle_found(lease, snapshot, &found, effect).await,
            Identified::Forgotten(found) => self.stop_for(&forgotten(&found)).await,
            Identified::Foreign(found) => self.set_aside(lease, snapshot, &found).await,
            Identified::NotYet => self.keep_looking(lease, snapshot).await,
            Identified::BeyondReach(oldest) => {
                self.give_up(lease, snapshot, "consumer_beyond_reach", oldest)
                    .await
            }
        }
    }

    /// A pair that nothing known of ours could have used is used: by whom, as far as the chain tells.
    pub(super) async fn idle_consumed(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        at_ledger: Option<u32>,
    ) -> Result<bool, ReconcileError> {
        // Usually the row has moved meanwhile: it was recorded, sent and included since it was read.
        let row = &lease.submission;
        let now = self.ledger.submission(row.id).await?;
        if now.is_none_or(|now| now.version != row.version) {
            return Ok(false);
        }
        // Envelopes that were proven dead are asked about too: a proof is only as good as the node that gave it.
        let mut attempts = self.ledger.attempts(row.id).await?;
        attempts.retain(|attempt| attempt.envelope.pair == lease.pair);
        let identified = match at_ledger {
            Some(ledger) => self.consumer_of(row, &attempts, (ledger, ledger)).await?,
            None => self.overtaken(lease.pair, &attempts, snapshot).await?,
        };
        let (consumer, found) = match identified {
            Identified::Ours(found) => (Consumer::Ours, found.inspected.hash),
            Identified::Foreign(found) => (Consumer::Foreign, found.inspected.hash),
            Identified::Forgotten(found) => return self.stop_for(&forgotten(&found)).await,
            Identified::BeyondReach(_) => {
                let Pair { account, sequence } = lease.pair;
                let what = format!(
                    "sequence {sequence} of {account} was used, and nobody can tell by whom"
                );
                return self.stop_for(&what).await;
            }
            Identified::NotYet => return Ok(false),
        };
        let change = Change {
            evidence: Some(evidence::consumed(
                &attempts,
                lease.pair,
                snapshot,
                Some(found),
                None,
            )),
            tx_hash: (consumer == Consumer::Ours).then_some(found),
            account: Some(snapshot.state),
            ..Change::new(row, Event::IdlePairConsumed(consumer), "reconciler")
        };
        step!("reconcile.idle_consumed", self.write(change).await)
    }

    /// As far as scans have come: they go on aside.
    async fn consumer_of(
        &self,
        row: &Submission,
        attempts: &[Attempt],
        (from, to): (u32, u32),
    ) -> Result<Identified, ReconcileError> {
        let Some(pair) = row.pair else {
            return Ok(Identified::NotYet);
        };
        match self.scans.ask(row.id, pair, from, to) {
            Scanned::Found(found) => self.judge(attempts, found).await,
            Scanned::NotYet => Ok(Identified::NotYet),
            Scanned::BeyondReach(oldest) => Ok(Identified::BeyondReach(Some(oldest))),
        }
    }

    /// The account tells of its last sequence only, which comes after the pair's. Once the consumer of the last one is
    /// indexed, those before it are too.
    async fn overtaken(
        &self,
        pair: Pair,
        attempts: &[Attempt],
        snapshot: &Snapshot,
    ) -> Result<Identified, ReconcileError> {
        let AccountState::Present {
            sequence,
            since_ledger: Some(ledger),
        } = snapshot.state
        else {
            return Ok(Identified::BeyondReach(None));
        };
        let last = LastUse {
            pair: Pair { sequence, ..pair },
            ledger,
        };
        let parts = self.identify();
        match parts.sight(last).await? {
            Sighted::NotSeen => return Ok(Identified::NotYet),
            // What comes before it is beyond reach then, too.
            Sighted::BeyondReach => return Ok(Identified::BeyondReach(None)),
            Sighted::Seen(_) => {}
        }
        let Some(mut seen) = parts.of_late(last).await? else {
            return Ok(Identified::NotYet);
        };
        match seen.remove(&pair) {
            Some(found) => self.judge(attempts, Box::new(found)).await,
            None => Ok(Identified::BeyondReach(None)),
        }
    }

    /// Whose a transaction is that was seen to use a pair.
    async fn judge(
        &self,
        attempts: &[Attempt],
        found: Box<Consumed>,
    ) -> Result<Identified, ReconcileError> {
        if is_recorded(attempts, &found) {
            return Ok(Identified::Ours(found));
        }
        Ok(match self.identify().whose(&found).await? {
            Whose::Forgotten => Identified::Forgotten(found),
            // A recorded one is another submission's, and so not this one's either.
            Whose::Recorded | Whose::Foreign(_) => Identified::Foreign(found),
        })
    }

    /// The consumer is ours: the index lags behind the ledgers.
    async fn settle_found(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        found: &Consumed,
        effect: &Effect,
    ) -> Result<bool, ReconcileError> {
        let hash = found.inspected.hash;
        let lookup = self.rpc.transaction(hash, effect).await?;
        match conclude(&[lookup.finding]) {
            Conclusion::Decided(_, outcome) => {
                let proof = Proof {
                    hash,
                    lookup: &lookup,
                    attempts: &lease.attempts,
                    snapshot: Some(snapshot),
                };
                self.settle(&lease.submission, &proof, outcome).await
            }
            Conclusion::KeepLooking | Conclusion::Scan => self.keep_looking(lease, snapshot).await,
        }
    }

    async fn set_aside(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        found: &Consumed,
    ) -> Result<bool, ReconcileError> {
        let hash = Some(found.inspected.hash);
        let change = Change {
            evidence: Some(evidence::consumed(
                &lease.attempts,
                lease.pair,
                snapshot,
                hash,
                None,
            )),
            last_error: Some("foreign_consumer".to_owned()),
            account: Some(snapshot.state),
            ..Change::new(&lease.submission, Event::ConsumedByForeign, "reconciler")
        };
        step!("reconcile.set_aside", self.write(change).await)
    }
}

fn is_recorded(attempts: &[Attempt], found: &Consumed) -> bool {
    let seen = &found.inspected;
    attempts.iter().any(|attempt| {
        let envelope = &attempt.envelope;
        envelope.hash == seen.hash
            || envelope.inner_hash == Some(seen.hash)
            || seen.inner_hash == Some(envelope.hash)
    })
}

fn forgotten(found: &Consumed) -> String {
    let (hash, pair) = (found.inspected.hash, found.inspected.pair);
    let Pair { account, sequence } = pair;
    format!(
        "{hash} used sequence {sequence} of {account} in the treasury's name, and nobody recorded it"
    )
}
