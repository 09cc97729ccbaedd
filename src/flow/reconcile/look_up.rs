//! A pair is used: by which envelope, and with what effect.

use futures::StreamExt as _;
use futures::stream;

use super::assess::{Snapshot, held};
use super::{ReconcileError, Reconciler, evidence};
use crate::domain::classify::{Alarm, alarm};
use crate::domain::ids::TxHash;
use crate::domain::plan::{self, Conclusion, Finding, Outcome, conclude};
use crate::domain::submission::{Event, Verdict};
use crate::flow::accept;
use crate::ledger::{Attempt, Change, Lease, Submission};
use crate::stellar::effect::{self, Effect};
use crate::stellar::rpc::{Lookup, Rpc};

/// Look-ups of one row under way at once.
const LOOK_UPS_AT_ONCE: usize = 4;

/// What looking a row's hashes up came to.
pub(super) enum ByHash {
    /// An outcome; whether it was written.
    Told {
        /// A rival may have been faster.
        written: bool,
    },
    /// Nothing yet.
    NotTold,
    /// No node has one of them.
    NotIndexed,
}

/// What the look-ups of a pair's hashes found, by hash; `None` where no node answered.
struct Looked(Vec<(TxHash, Option<Lookup>)>);

/// What makes an outcome safe to believe.
#[derive(Clone, Copy)]
pub(super) struct Proof<'a> {
    /// Of the transaction that decided.
    pub hash: TxHash,
    /// Its look-up.
    pub lookup: &'a Lookup,
    /// Envelopes of the pair.
    pub attempts: &'a [Attempt],
    /// The account, if it was looked at.
    pub snapshot: Option<&'a Snapshot>,
}

impl Looked {
    fn findings(&self) -> Vec<Finding> {
        self.0
            .iter()
            .map(|(_, lookup)| finding(lookup.as_ref()))
            .collect()
    }

    fn at(&self, place: usize) -> Option<(TxHash, &Lookup)> {
        let (hash, lookup) = self.0.get(place)?;
        Some((*hash, lookup.as_ref()?))
    }
}

fn finding(lookup: Option<&Lookup>) -> Finding {
    lookup.map_or(Finding::Unknown, |lookup| lookup.finding)
}

impl Reconciler {
    /// Looks every hash of the pair up, and for the consumer when none is indexed.
    pub(super) async fn look_up(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        at_ledger: Option<u32>,
    ) -> Result<bool, ReconcileError> {
        let Some(effect) = self.expected(&lease.submission) else {
            return Ok(false);
        };
        let (row, attempts) = (&lease.submission, &lease.attempts);
        match self
            .settle_by_hash(row, attempts, Some(snapshot), &effect)
            .await?
        {
            ByHash::Told { written } => Ok(written),
            ByHash::NotTold => self.keep_looking(lease, snapshot).await,
            ByHash::NotIndexed => {
                #[cfg(feature = "planted-bugs")]
                if let Some(event) = crate::flow::planted::not_found() {
                    return self.write(Change::new(row, event, "planted")).await;
                }
                self.settle_by_consumer(lease, snapshot, at_ledger, &effect)
                    .await
            }
        }
    }

    /// Settles a row by the transactions that have one of its hashes.
    pub(super) async fn settle_by_hash(
        &self,
        row: &Submission,
        attempts: &[Attempt],
        snapshot: Option<&Snapshot>,
        effect: &Effect,
    ) -> Result<ByHash, ReconcileError> {
        #[cfg(feature = "planted-bugs")]
        let attempts = &crate::flow::planted::to_look_up(&self.ledger, row, attempts).await?;
        let looked = self.look_hashes_up(row, attempts, effect).await;
        let (place, outcome) = match conclude(&looked.findings()) {
            Conclusion::Decided(place, outcome) => (place, outcome),
            Conclusion::KeepLooking => return Ok(ByHash::NotTold),
            Conclusion::Scan => return Ok(ByHash::NotIndexed),
        };
        let Some((hash, lookup)) = looked.at(place) else {
            return Ok(ByHash::NotTold);
        };
        let proof = Proof {
            hash,
            lookup,
            attempts,
            snapshot,
        };
        let written = self.settle(row, &proof, outcome).await?;
        Ok(ByHash::Told { written })
    }

    /// The effect that the row's payment leaves.
    pub(super) fn expected(&self, submission: &Submission) -> Option<Effect> {
        let operation = accept::operation_of(&submission.payload)
            .inspect_err(
                |_| tracing::error!(submission = %submission.id, "a stored payload does not parse"),
            )
            .ok()?;
        Some(effect::expected(
            &self.identity.network,
            self.identity.treasury,
            &operation,
        ))
    }

    /// Every hash that may have used the row's pair, at the node in use, and where that decides nothing at every other.
    async fn look_hashes_up(
        &self,
        row: &Submission,
        attempts: &[Attempt],
        effect: &Effect,
    ) -> Looked {
        let hashes = hashes(row, attempts);
        let mut looked = Looked(look_up_at(&self.rpc, &hashes, effect).await);
        let nodes = self.rpc.each_node();
        for node in nodes.iter().filter(|_| nodes.len() > 1) {
            if let Conclusion::Decided(..) = conclude(&looked.findings()) {
                break;
            }
            let more = look_up_at(node, &hashes, effect).await;
            looked = Looked(
                looked
                    .0
                    .into_iter()
                    .zip(more)
                    .map(|((hash, one), (_, other))| (hash, better(one, other)))
                    .collect(),
            );
        }
        looked
    }

    /// Writes what a transaction of the row came to.
    pub(super) async fn settle(
        &self,
        row: &Submission,
        proof: &Proof<'_>,
        outcome: Outcome,
    ) -> Result<bool, ReconcileError> {
        let change = Change {
            last_error: outcome.code().map(str::to_owned),
            evidence: Some(evidence::looked_up(
                proof.lookup,
                proof.attempts,
                proof.snapshot,
            )),
            tx_hash: Some(proof.hash),
            account: proof.snapshot.map(|snapshot| snapshot.state),
            ..Change::new(row, outcome.into_event(), "reconciler")
        };
        let written = step!("reconcile.settle", self.write(change).await)?;
        if written {
            call_for_help(row, proof.lookup.finding);
        }
        Ok(written)
    }

    /// Nothing can be said yet: the next pass looks again, until it has been looked for long enough.
    pub(super) async fn keep_looking(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
    ) -> Result<bool, ReconcileError> {
        if plan::looked_long_enough(&held(lease), snapshot.closed.close_time) {
            return self
                .give_up(lease, snapshot, "outcome_not_told", None)
                .await;
        }
        Ok(false)
    }

    /// The key is held for staff; its account goes on.
    pub(super) async fn give_up(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        why: &str,
        oldest_ledger: Option<u32>,
    ) -> Result<bool, ReconcileError> {
        let change = Change {
            evidence: Some(evidence::consumed(
                &lease.attempts,
                lease.pair,
                snapshot,
                None,
                oldest_ledger,
            )),
            last_error: Some(why.to_owned()),
            account: Some(snapshot.state),
            ..Change::new(&lease.submission, Event::ConsumerBeyondReach, "reconciler")
        };
        step!("reconcile.give_up", self.write(change).await)
    }
}

/// Newest first, and the outer hash before the inner one: a fee-bump is found under both, and shown by its own.
fn hashes(row: &Submission, attempts: &[Attempt]) -> Vec<TxHash> {
    let recorded = attempts
        .iter()
        .rev()
        .flat_map(|attempt| [Some(attempt.envelope.hash), attempt.envelope.inner_hash]);
    // A transaction whose record was lost is known by the row alone. A row that is not indeterminate may still show
    // the hash of an older pair, which says nothing about this one.
    let found = row
        .tx_hash
        .filter(|_| row.state.verdict == Verdict::Indeterminate);
    let mut hashes = Vec::new();
    for hash in recorded.chain([found]).flatten() {
        if !hashes.contains(&hash) {
            hashes.push(hash);
        }
    }
    hashes
}

async fn look_up_at(
    node: &Rpc,
    hashes: &[TxHash],
    effect: &Effect,
) -> Vec<(TxHash, Option<Lookup>)> {
    stream::iter(hashes.to_vec())
        .map(|hash| async move { (hash, node.transaction(hash, effect).await.ok()) })
        .buffered(LOOK_UPS_AT_ONCE)
        .collect()
        .await
}

fn better(one: Option<Lookup>, other: Option<Lookup>) -> Option<Lookup> {
    let (found, found_there) = (finding(one.as_ref()), finding(other.as_ref()));
    if found.or(found_there) == found {
        one
    } else {
        other
    }
}

/// A treasury that cannot pay, or keys that do not sign, fail more than this one.
fn call_for_help(submission: &Submission, finding: Finding) {
    let Finding::Failed(failure) = finding else {
        return;
    };
    match alarm(failure) {
        Alarm::None => {}
        Alarm::Treasury => {
            tracing::error!(submission = %submission.id, %failure, "the treasury needs care");
        }
        Alarm::Operator => {
            tracing::error!(submission = %submission.id, %failure, "keys or settings need care");
        }
    }
}
