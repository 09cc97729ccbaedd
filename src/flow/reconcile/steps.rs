//! Carrying a step of the plan out.

use std::sync::Arc;

use super::aside::Place;
use super::assess::{Assessed, Snapshot};
use super::{ReconcileError, Reconciler, Report, evidence};
use crate::domain::classify::Cause;
use crate::domain::fees::{self, NextBid, RefusedBid};
use crate::domain::plan::Step;
use crate::domain::submission::{Event, Gap, Status};
use crate::ledger::{Applied, Attempt, Change, Envelope, Lease, SendPlan, SendState, Submission};
use crate::stellar::envelope::SignedEnvelope;
use crate::stellar::fee_bump::fee_bump;

impl Reconciler {
    pub(super) async fn execute(
        &self,
        assessed: Assessed,
        report: &mut Report,
    ) -> Result<(), ReconcileError> {
        let Assessed {
            lease,
            snapshot,
            step,
            in_the_way,
        } = assessed;
        match step {
            Step::Wait if in_the_way => {
                report.settled += usize::from(self.make_way(&lease).await?);
            }
            Step::Wait => report.settled += usize::from(self.end_lapsed_claim(&lease).await?),
            Step::Resend => report.resent += usize::from(self.resend(&lease).await?),
            Step::RaiseFee { required } => {
                report.resent += usize::from(self.raise_fee(&lease, required).await?);
            }
            Step::Dead(cause, gap) => {
                report.settled += usize::from(self.bury(&lease, &snapshot, cause, gap).await?);
            }
            Step::LookUp {
                at_ledger: Some(ledger),
            } if self.landed.lock().await.will_tell(ledger) => {}
            Step::LookUp { at_ledger } => {
                report.settled += usize::from(self.look_up(&lease, &snapshot, at_ledger).await?);
            }
            Step::IdleConsumed { at_ledger } => {
                report.settled +=
                    usize::from(self.idle_consumed(&lease, &snapshot, at_ledger).await?);
            }
            Step::AccountGone => {
                report.settled += usize::from(self.look_up(&lease, &snapshot, None).await?);
            }
        }
        Ok(())
    }

    /// Writes one transition; says whether it was written. Alarms follow what was written: a rival may know better.
    pub(super) async fn write(&self, change: Change) -> Result<bool, ReconcileError> {
        #[cfg(feature = "planted-bugs")]
        let change = crate::flow::planted::before_write(&self.ledger, change).await?;
        let (id, event) = (change.id, change.event.as_str());
        let (alarming, evidence) = (change.event.is_alarming(), change.evidence.clone());
        match step!("reconcile.write", self.ledger.apply(change).await)? {
            Applied::Done(row) => {
                report_written(&row, event, alarming.then(|| evidence.unwrap_or_default()));
                Ok(true)
            }
            Applied::Stale | Applied::NotFound => Ok(false),
            Applied::Illegal(error) => {
                tracing::error!(submission = %id, %error, "an illegal event was refused");
                Ok(false)
            }
        }
    }

    async fn end_lapsed_claim(&self, lease: &Lease) -> Result<bool, ReconcileError> {
        if lease.submission.state.status != Status::Building || !lease.claim_lapsed {
            return Ok(false);
        }
        let lapsed = Change::new(&lease.submission, Event::ClaimLapsed, "reconciler");
        step!("reconcile.lapse", self.write(lapsed).await)
    }

    /// A row that waits for its turn gives its pair back, so that whoever is claimed next takes it: those with later
    /// sequences of the account cannot be applied before it is used.
    async fn make_way(&self, lease: &Lease) -> Result<bool, ReconcileError> {
        let change = Change::new(&lease.submission, Event::Deferred, "reconciler");
        self.write(change).await
    }

    async fn bury(
        &self,
        lease: &Lease,
        snapshot: &Snapshot,
        cause: Cause,
        gap: Gap,
    ) -> Result<bool, ReconcileError> {
        let change = Change {
            last_error: Some(cause.code.clone()),
            evidence: Some(evidence::dead(lease, snapshot)),
            account: Some(snapshot.state),
            ..Change::new(
                &lease.submission,
                Event::ProvenDead(cause, gap),
                "reconciler",
            )
        };
        step!("reconcile.bury", self.write(change).await)
    }

    /// Sends the bytes of the last recorded envelope again, after the row has moved: a rival would find it stale.
    async fn resend(&self, lease: &Lease) -> Result<bool, ReconcileError> {
        let Some(attempt) = lease.attempts.last() else {
            return Ok(false);
        };
        let Some(place) = self.aside.place(lease.submission.id) else {
            return Ok(false);
        };
        let change = Change {
            sending: Some(SendPlan::Resend(self.sender.delays().under_way)),
            ..Change::new(&lease.submission, Event::ResendBegun, "reconciler")
        };
        let begun = step!("reconcile.resend", self.ledger.apply(change).await)?;
        let Applied::Done(row) = begun else {
            return Ok(false);
        };
        self.send_aside(place, *row, attempt.envelope.clone());
        Ok(true)
    }

    fn send_aside(&self, place: Place, row: Submission, sent: Envelope) {
        let sender = Arc::clone(&self.sender);
        self.aside.run(place, async move {
            step!(
                "reconcile.send",
                sender
                    .send(&row, sent.hash, &sent.xdr, sent.operations)
                    .await
            )
        });
    }

    async fn raise_fee(&self, lease: &Lease, required: i64) -> Result<bool, ReconcileError> {
        let Some(inner) = lease
            .attempts
            .iter()
            .rfind(|attempt| attempt.envelope.inner_hash.is_none())
        else {
            return Ok(false);
        };
        let refused = RefusedBid {
            operations: refused_operations(lease),
            required,
        };
        let bumps = lease.attempts.iter().map(|attempt| &attempt.envelope);
        let highest = bumps
            .filter(|bump| bump.inner_hash == Some(inner.envelope.hash))
            .map(|bump| bump.fee)
            .max();
        let ceiling = self.settings.max_fee;
        let fee = match fees::next_bid(refused, inner.envelope.fee, highest, ceiling) {
            NextBid::Raise(fee) => fee,
            NextBid::Repeat => return self.resend(lease).await,
            NextBid::Wait => {
                self.count(|metrics| metrics.fee_ceiling_hit(lease.submission.priority));
                tracing::warn!(submission = %lease.submission.id, required, "the fee ceiling is below what the network asks");
                return self.wait_for_lower_fees(lease).await;
            }
        };
        let (network, xdr) = (&self.identity.network, &inner.envelope.xdr);
        let built = step!(
            "bump.build",
            fee_bump(network, xdr, &self.fee_source, fee).await
        );
        let bump = match built {
            Ok(bump) => bump,
            Err(error) => {
                tracing::error!(submission = %lease.submission.id, %error, "no fee-bump was built");
                return Ok(false);
            }
        };
        self.record_and_send(lease, inner, bump).await
    }

    async fn record_and_send(
        &self,
        lease: &Lease,
        inner: &Attempt,
        bump: SignedEnvelope,
    ) -> Result<bool, ReconcileError> {
        let (id, version) = (lease.submission.id, lease.submission.version);
        let Some(place) = self.aside.place(id) else {
            return Ok(false);
        };
        let bump = Envelope::from(bump);
        let recorded = step!(
            "bump.record",
            self.ledger
                .record_bump(id, version, bump.clone(), inner.sent_after_ledger)
                .await
        )?;
        let Applied::Done(row) = recorded else {
            return Ok(false);
        };
        self.count(|metrics| metrics.fee_raised(row.kind));
        step!("bump.send", self.send_aside(place, *row, bump));
        Ok(true)
    }

    async fn wait_for_lower_fees(&self, lease: &Lease) -> Result<bool, ReconcileError> {
        let change = Change {
            sending: Some(SendPlan::Resend(self.sender.delays().acknowledged)),
            ..Change::new(&lease.submission, Event::AnswerNoted, "reconciler")
        };
        step!("reconcile.wait_fees", self.write(change).await).map(|_| false)
    }
}

/// Tells what was written; with evidence when staff must look at it.
fn report_written(row: &Submission, event: &str, alarm: Option<serde_json::Value>) {
    let (id, status, pair) = (row.id, row.state.status.as_str(), row.pair);
    let verdict = row.state.verdict.as_str();
    match alarm {
        Some(evidence) => {
            tracing::error!(submission = %id, event, status, verdict, ?pair, %evidence, "staff must look at this");
        }
        None => {
            tracing::info!(submission = %id, event, status, verdict, "settled by evidence");
        }
    }
}

/// Operations that the refused bid was for.
fn refused_operations(lease: &Lease) -> i64 {
    match &lease.submission.sending {
        SendState::RaiseFee { operations, .. } => *operations,
        SendState::Waiting | SendState::Resend(_) | SendState::Stopped(_) => fees::OPERATIONS,
    }
}
