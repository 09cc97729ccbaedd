//! Takes a request in: one row per tenant and idempotency key, whatever is pushed and however often.
//!
//! A request is checked as a whole before the ledger hears of it, so a bad one never uses its key up. What is stored is
//! the request's normal form: two requests that mean the same have the same fingerprint, however they were written.

mod normal;
mod operation;
mod request;

pub use normal::{canonical, differences};
pub use operation::{operation_json, operation_of};
pub use request::{Request, parse};

use crate::domain::key::{Fingerprint, IdempotencyKey, Tenant};
use crate::ledger::Ledger;
use crate::ledger::{Accepted, LedgerError, NewSubmission, Submission};

/// What accepting came to.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The key is new: the row was written.
    New(Box<Submission>),
    /// The key was used for the same request before: the row as it stands now.
    Replayed(Box<Submission>),
    /// The key was used for another request.
    Conflict {
        /// JSON pointers at which the stored request and this one differ. Never the values.
        pointers: Vec<String>,
    },
}

/// Writes the request's row, or finds the one its key already has.
///
/// # Errors
/// [`LedgerError::CommitUnknown`]: it may have been written; the same call again tells. Any other: it was not.
pub async fn accept(
    ledger: &Ledger,
    tenant: &Tenant,
    key: &IdempotencyKey,
    request: &Request,
) -> Result<Outcome, LedgerError> {
    let payload = request.normal_form();
    let fingerprint = Fingerprint::of(&canonical(&payload));
    let accepted = step!(
        "accept.ledger",
        ledger
            .accept(NewSubmission {
                tenant: tenant.clone(),
                key: key.clone(),
                kind: request.operation.kind(),
                priority: request.priority,
                business_ref: request.business_ref.clone(),
                payload: payload.clone(),
                fingerprint,
            })
            .await
    )?;
    Ok(match accepted {
        Accepted::New(row) => Outcome::New(Box::new(row)),
        Accepted::Existing(row) => compare(row, &payload, fingerprint),
    })
}

fn compare(row: Submission, payload: &serde_json::Value, fingerprint: Fingerprint) -> Outcome {
    if row.fingerprint == fingerprint {
        return Outcome::Replayed(Box::new(row));
    }
    let pointers = differences(&row.payload, payload);
    // The same content under another fingerprint can only come from another release's canonical form.
    if pointers.is_empty() {
        Outcome::Replayed(Box::new(row))
    } else {
        Outcome::Conflict { pointers }
    }
}
