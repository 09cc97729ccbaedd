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

/// Why an intent has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// Neither a key nor `key_parts` were sent.
    Missing,
    /// Both were, and they name different keys.
    Mismatch,
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
    let new = submission(tenant.clone(), key.clone(), request);
    let accepted = step!("accept.ledger", ledger.accept(new.clone()).await)?;
    Ok(match accepted {
        Accepted::New(row) => Outcome::New(Box::new(row)),
        Accepted::Existing(row) => {
            let pointers = conflict(&row, &new);
            if pointers.is_empty() {
                Outcome::Replayed(Box::new(row))
            } else {
                Outcome::Conflict { pointers }
            }
        }
    })
}

/// The key of an intent: the one that was sent, or the one that its `key_parts` give.
///
/// # Errors
/// [`KeyFault`].
pub fn resolve_key(
    sent: Option<IdempotencyKey>,
    derived: Option<IdempotencyKey>,
) -> Result<IdempotencyKey, KeyFault> {
    match (sent, derived) {
        (Some(sent), Some(derived)) if sent != derived => Err(KeyFault::Mismatch),
        (Some(key), _) | (None, Some(key)) => Ok(key),
        (None, None) => Err(KeyFault::Missing),
    }
}

/// The row that a request comes to, whichever way it came in.
#[must_use]
pub fn submission(tenant: Tenant, key: IdempotencyKey, request: &Request) -> NewSubmission {
    let payload = request.normal_form();
    NewSubmission {
        tenant,
        key,
        kind: request.operation.kind(),
        priority: request.priority,
        business_ref: request.business_ref.clone(),
        fingerprint: Fingerprint::of(&canonical(&payload)),
        payload,
    }
}

/// JSON pointers at which a request differs from the one that its key was used for. None: it is the same.
#[must_use]
pub fn conflict(stored: &Submission, new: &NewSubmission) -> Vec<String> {
    if stored.fingerprint == new.fingerprint {
        return Vec::new();
    }
    // The same content under another fingerprint can only come from another release's canonical form.
    differences(&stored.payload, &new.payload)
}
