//! For Rust services that keep their data in the ledger's database: an intent to pay that is written within a
//! transaction of their own, so that it commits or rolls back together with what caused it.
//!
//! `docs/OUTBOX.md` tells what becomes of it. The connection is one of sea-orm 2.

use serde_json::Value;

use crate::flow::intent;
use crate::ledger::outbox::insert_intent;
pub use crate::ledger::outbox::{ConnectionTrait, DbErr};

/// Names the row of an intent: the column `id` of the table `outbox`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnqueueId(pub i64);

/// Why an intent was not written.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// It would be refused. Nothing was written, and the transaction can go on.
    #[error("{code}: {detail}")]
    Refused {
        /// For programs: the code of the problem that the API answers.
        code: &'static str,
        /// For people.
        detail: String,
    },
    /// The database did not take it.
    #[error(transparent)]
    Database(#[from] DbErr),
}

/// Writes an intent through the caller's connection or transaction.
///
/// `payload` is the body that `POST /transactions` takes. `key` may be left out when the payload has `key_parts`. All of it
/// is checked here and now, but whether the key was used for another request turns out after the commit only.
///
/// # Errors
/// [`EnqueueError`].
pub async fn enqueue<'a>(
    db: &impl ConnectionTrait,
    tenant: &str,
    key: impl Into<Option<&'a str>>,
    payload: &Value,
) -> Result<EnqueueId, EnqueueError> {
    let (key, payload) = (key.into(), payload.to_string());
    intent::check(
        tenant.as_bytes(),
        key.map(str::as_bytes),
        payload.as_bytes(),
    )
    .map_err(|refused| EnqueueError::Refused {
        code: refused.code,
        detail: refused.detail,
    })?;
    Ok(EnqueueId(insert_intent(db, tenant, key, &payload).await?))
}
