//! A pair is used: by which envelope, and with what effect.

use futures::StreamExt as _;
use futures::stream;

use super::steps::sequence;
use super::{ReconcileError, Reconciler, Snapshot, evidence};
use crate::domain::classify::{Alarm, alarm};
use crate::domain::ids::TxHash;
use crate::domain::plan::{Conclusion, Finding, conclude};
use crate::domain::submission::{Event, Presence};
use crate::flow::accept;
use crate::ledger::{Attempt, Change, Lease, Submission};
use crate::stellar::effect::{self, Effect};
use crate::stellar::rpc::{Consumed, Consumer, Lookup};

/// Look-ups of one row under way at once.
const LOOK_UPS_AT_ONCE: usize = 4;
/// Rows of unknown outcome looked at in one pass.
const INDETERMINATE_BATCH: u64 = 100;

impl Reconciler {
    /// Looks every hash of the pair up, and scans for the consumer when none is indexed.
    pub(super) async fn look_up(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        at_ledger: Option<u32>,
        presence: Presence,
    ) -> Result<bool, ReconcileError> {
        let Some(effect) = self.expected(&lease.submission) else {
            return Ok(false);
        };
        let lookups = self.look_hashes_up(&lease.attempts, &effect).await;
        let findings: Vec<_> = lookups
            .iter()
            .map(|lookup| finding(lookup.as_ref()))
            .collect();
        let event = match conclude(&findings) {
            Conclusion::Succeeded => Event::Succeeded,
            Conclusion::EffectMissing => Event::EffectMissing,
            Conclusion::LedgerFailed(cause) => Event::LedgerFailed(cause),
            Conclusion::KeepLooking => return Ok(false),
            Conclusion::Scan => {
                let oldest = lookups
                    .iter()
                    .flatten()
                    .map(|(_, lookup)| lookup.oldest_ledger)
                    .min();
                let scan = Scan {
                    at_ledger,
                    presence,
                    oldest_ledger: oldest.unwrap_or(0),
                };
                return self.scan(lease, snapshot, scan, &effect).await;
            }
        };
        let deciding = lookups
            .iter()
            .flatten()
            .find(|(_, lookup)| lookup.ledger.is_some());
        let last_error = match &event {
            Event::LedgerFailed(cause) => Some(cause.code.clone()),
            Event::EffectMissing => Some("effect_missing".to_owned()),
            _ => None,
        };
        let change = Change {
            last_error,
            evidence: deciding
                .map(|(_, lookup)| evidence::looked_up(lookup, &lease.attempts, Some(snapshot))),
            tx_hash: deciding.map(|(hash, _)| *hash),
            account_sequence: sequence(snapshot),
            ..Change::new(&lease.submission, event, "reconciler")
        };
        let written = self.write(change).await?;
        if written {
            call_for_help(&lease.submission, &findings);
        }
        Ok(written)
    }

    fn expected(&self, submission: &Submission) -> Option<Effect> {
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

    /// Every hash of the attempts, inner and outer: `None` for a look-up without an answer.
    async fn look_hashes_up(
        &self,
        attempts: &[Attempt],
        effect: &Effect,
    ) -> Vec<Option<(TxHash, Lookup)>> {
        let mut hashes: Vec<_> = attempts
            .iter()
            .flat_map(|attempt| [Some(attempt.envelope.hash), attempt.envelope.inner_hash])
            .flatten()
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        stream::iter(hashes)
            .map(|hash| async move {
                let lookup = self.rpc.transaction(hash, effect).await.ok()?;
                Some((hash, lookup))
            })
            .buffered(LOOK_UPS_AT_ONCE)
            .collect()
            .await
    }

    /// None of our hashes is indexed. Not found is not foreign: only a consumer that is seen decides.
    async fn scan(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        scan: Scan,
        effect: &Effect,
    ) -> Result<bool, ReconcileError> {
        let first_sent = lease
            .attempts
            .iter()
            .map(|attempt| attempt.sent_after_ledger)
            .min()
            .unwrap_or(0);
        let (from, to) = scan
            .at_ledger
            .map_or((first_sent + 1, snapshot.ledger), |ledger| (ledger, ledger));
        match self.rpc.consumer(lease.pair, from, to).await? {
            Consumer::Found(found) if self.is_ours(lease, &found, effect) => {
                self.settle_found(lease, snapshot, &found, effect).await
            }
            Consumer::Found(found) => self.quarantine(lease, snapshot, &found).await,
            // Unread pages, or a node that lags: only a history that begins after the window puts it out of reach.
            Consumer::NotSeen { .. } if scan.oldest_ledger <= from => Ok(false),
            Consumer::NotSeen { .. } => self.give_up(lease, snapshot, scan).await,
        }
    }

    async fn quarantine(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        found: &Consumed,
    ) -> Result<bool, ReconcileError> {
        let hash = found.inspected.hash;
        let change = Change {
            evidence: Some(evidence::consumed(lease, snapshot, Some(hash), None)),
            last_error: Some("foreign_consumer".to_owned()),
            account_sequence: sequence(snapshot),
            ..Change::new(&lease.submission, Event::ConsumedByForeign, "reconciler")
        };
        self.write(change).await
    }

    async fn give_up(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        scan: Scan,
    ) -> Result<bool, ReconcileError> {
        let change = Change {
            evidence: Some(evidence::consumed(
                lease,
                snapshot,
                None,
                Some(scan.oldest_ledger),
            )),
            last_error: Some("consumer_beyond_reach".to_owned()),
            account_sequence: sequence(snapshot),
            ..Change::new(
                &lease.submission,
                Event::ConsumerBeyondReach(scan.presence),
                "reconciler",
            )
        };
        self.write(change).await
    }

    /// The consumer is ours: the index lags behind the ledgers, or the record of this envelope was lost.
    async fn settle_found(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        found: &Consumed,
        effect: &Effect,
    ) -> Result<bool, ReconcileError> {
        let hash = found.inspected.hash;
        let lookup = self.rpc.transaction(hash, effect).await?;
        let event = match conclude(&[lookup.finding]) {
            Conclusion::Succeeded => Event::Succeeded,
            Conclusion::EffectMissing => Event::EffectMissing,
            Conclusion::LedgerFailed(cause) => Event::LedgerFailed(cause),
            Conclusion::KeepLooking | Conclusion::Scan => return Ok(false),
        };
        let change = Change {
            evidence: Some(evidence::looked_up(
                &lookup,
                &lease.attempts,
                Some(snapshot),
            )),
            tx_hash: Some(hash),
            account_sequence: sequence(snapshot),
            ..Change::new(&lease.submission, event, "reconciler")
        };
        self.write(change).await
    }

    /// Looks the hashes of indeterminate rows up again: a node with a longer history may have been configured.
    pub(super) async fn look_up_indeterminate(&self) -> Result<usize, ReconcileError> {
        let mut settled = 0;
        for (submission, attempts) in self.ledger.indeterminate(INDETERMINATE_BATCH).await? {
            let Some(effect) = self.expected(&submission) else {
                continue;
            };
            let lookups = self.look_hashes_up(&attempts, &effect).await;
            let findings: Vec<_> = lookups
                .iter()
                .map(|lookup| finding(lookup.as_ref()))
                .collect();
            let event = match conclude(&findings) {
                Conclusion::Succeeded => Event::Succeeded,
                Conclusion::EffectMissing => Event::EffectMissing,
                Conclusion::LedgerFailed(cause) => Event::LedgerFailed(cause),
                Conclusion::KeepLooking | Conclusion::Scan => continue,
            };
            let deciding = lookups
                .iter()
                .flatten()
                .find(|(_, lookup)| lookup.ledger.is_some());
            let change = Change {
                evidence: deciding.map(|(_, lookup)| evidence::looked_up(lookup, &attempts, None)),
                tx_hash: deciding.map(|(hash, _)| *hash),
                ..Change::new(&submission, event, "reconciler")
            };
            settled += usize::from(self.write(change).await?);
        }
        Ok(settled)
    }
}

fn finding(lookup: Option<&(TxHash, Lookup)>) -> Finding {
    lookup.map_or(Finding::Unknown, |(_, lookup)| lookup.finding)
}

/// A treasury that cannot pay, or keys that do not sign, fail more than this one.
fn call_for_help(submission: &Submission, findings: &[Finding]) {
    for finding in findings {
        if let Finding::Failed(failure) = finding {
            match alarm(*failure) {
                Alarm::None => {}
                Alarm::Treasury => {
                    tracing::error!(submission = %submission.id, %failure, "the treasury needs care");
                }
                Alarm::Operator => {
                    tracing::error!(submission = %submission.id, %failure, "keys or settings need care");
                }
            }
        }
    }
}

/// What a scan starts from.
#[derive(Clone, Copy)]
struct Scan {
    /// The ledger that used the pair, when the account still tells.
    at_ledger: Option<u32>,
    /// Whether the account exists.
    presence: Presence,
    /// Oldest ledger of any node that was asked.
    oldest_ledger: u32,
}

impl Reconciler {
    /// By hash; or by the key's tag, if what it does matches too.
    fn is_ours(&self, lease: &Lease, found: &Consumed, effect: &Effect) -> bool {
        let seen = &found.inspected;
        let by_hash = lease.attempts.iter().any(|attempt| {
            let envelope = &attempt.envelope;
            envelope.hash == seen.hash
                || envelope.inner_hash == Some(seen.hash)
                || seen.inner_hash == Some(envelope.hash)
        });
        let same_payload = seen.operation.as_ref().is_some_and(|(payer, operation)| {
            *payer == self.identity.treasury
                && effect::expected(&self.identity.network, *payer, operation) == *effect
        });
        by_hash || (seen.tag == Some(lease.submission.tag) && same_payload)
    }
}
