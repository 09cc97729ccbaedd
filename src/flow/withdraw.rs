//! Cancels a submission that waits for its turn. Once an envelope may be out, only the chain decides.

use serde_json::json;

use crate::domain::ids::SubmissionId;
use crate::domain::submission::{Event, Status};
use crate::flow::reason::Reason;
use crate::ledger::Ledger;
use crate::ledger::{Applied, Change, LedgerError, Submission};

/// Times a lost race against another writer is run again.
pub(super) const RACES: u32 = 5;

/// What cancelling came to.
#[derive(Clone, Debug)]
pub enum Withdrawn {
    /// It is cancelled.
    Done(Box<Submission>),
    /// It stands where it cannot be cancelled: nothing was written.
    NotCancellable(Status),
    /// An envelope of it may still be applied: nothing was written.
    OutcomeUnknown,
    /// Others kept changing it: nothing was written, another try can help.
    Busy,
    /// No such submission.
    NotFound,
}

/// Cancels a pending submission, if every envelope it ever had is dead.
///
/// # Errors
/// [`LedgerError`]; after [`LedgerError::CommitUnknown`] it may be cancelled.
pub async fn cancel(
    ledger: &Ledger,
    id: SubmissionId,
    reason: &Reason,
    actor: &str,
) -> Result<Withdrawn, LedgerError> {
    for _ in 0..RACES {
        let Some(row) = ledger.submission(id).await? else {
            return Ok(Withdrawn::NotFound);
        };
        if row.state.status != Status::Pending {
            return Ok(Withdrawn::NotCancellable(row.state.status));
        }
        // Read after the row: an envelope recorded since then moves the version, and the change below comes too late.
        if ledger.attempts(id).await?.iter().any(|one| !one.settled) {
            return Ok(Withdrawn::OutcomeUnknown);
        }
        let change = staff_change(&row, Event::Cancelled, reason, actor);
        match step!("cancel.apply", ledger.apply(change).await)? {
            Applied::Done(row) => return Ok(Withdrawn::Done(row)),
            Applied::NotFound => return Ok(Withdrawn::NotFound),
            Applied::Stale | Applied::Illegal(_) => {}
        }
    }
    Ok(Withdrawn::Busy)
}

/// A transition that a person asked for, with the reason given.
pub(super) fn staff_change(row: &Submission, event: Event, reason: &Reason, actor: &str) -> Change {
    Change {
        evidence: Some(json!({ "reason": reason.as_str(), "actor": actor })),
        ..Change::new(row, event, actor)
    }
}
