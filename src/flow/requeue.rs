//! Runs a failed submission again, when staff ask for it and nothing of it can take effect any more.

use crate::domain::ids::SubmissionId;
use crate::domain::submission::{Event, Status, Verdict};
use crate::ledger::Ledger;
use crate::ledger::{Applied, LedgerError, Submission};

use super::reason::Reason;
use super::withdraw::{RACES, staff_change};

/// What requeueing came to.
#[derive(Clone, Debug)]
pub enum Requeued {
    /// It is pending again, in a new generation.
    Done(Box<Submission>),
    /// An envelope of it could still be applied, or nobody knows whether one was: nothing was written.
    OutcomeUnknown,
    /// A transaction of it succeeded: it never runs again.
    AlreadyEffective,
    /// It did not fail: nothing was written.
    NotFailed(Status),
    /// Others kept changing it: nothing was written, another try can help.
    Busy,
    /// No such submission.
    NotFound,
}

/// Requeues a failed submission.
///
/// # Errors
/// [`LedgerError`]; after [`LedgerError::CommitUnknown`] it may be requeued.
pub async fn requeue(
    ledger: &Ledger,
    id: SubmissionId,
    reason: &Reason,
    actor: &str,
) -> Result<Requeued, LedgerError> {
    for _ in 0..RACES {
        let Some(row) = ledger.submission(id).await? else {
            return Ok(Requeued::NotFound);
        };
        if let Some(refusal) = refusal(row.state.status, row.state.verdict) {
            return Ok(refusal);
        }
        // The state machine fails a row only once its envelopes are settled; a second look costs little.
        if ledger.attempts(id).await?.iter().any(|one| !one.settled) {
            return Ok(Requeued::OutcomeUnknown);
        }
        let change = staff_change(&row, Event::Requeued, reason, actor);
        match step!("requeue.apply", ledger.apply(change).await)? {
            Applied::Done(row) => return Ok(Requeued::Done(row)),
            Applied::NotFound => return Ok(Requeued::NotFound),
            Applied::Stale | Applied::Illegal(_) => {}
        }
    }
    Ok(Requeued::Busy)
}

fn refusal(status: Status, verdict: Verdict) -> Option<Requeued> {
    match (status, verdict) {
        (_, Verdict::Success) => Some(Requeued::AlreadyEffective),
        (_, Verdict::Indeterminate) | (Status::Submitted | Status::Confirming, _) => {
            Some(Requeued::OutcomeUnknown)
        }
        (Status::Failed, _) => None,
        (Status::Confirmed, _) => Some(Requeued::AlreadyEffective),
        (Status::Pending | Status::Building | Status::Cancelled | Status::Simulated, _) => {
            Some(Requeued::NotFailed(status))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_without_effect_run_again() {
        for status in Status::ALL {
            for verdict in Verdict::ALL {
                let allowed = refusal(status, verdict).is_none();
                let harmless = !matches!(verdict, Verdict::Success | Verdict::Indeterminate);
                assert_eq!(
                    allowed,
                    status == Status::Failed && harmless,
                    "{status:?} {verdict:?}"
                );
            }
        }
    }
}
