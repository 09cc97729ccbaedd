//! What callers get to see of a submission. What is not known is absent: OpenAPI 3.0 has no type for null.

use poem_openapi::Object;
use poem_openapi::types::Any;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::ledger::{Attempt, Millis, Submission};

use super::words::{CategoryWord, KindWord, PriorityWord, StatusWord, VerdictWord};

/// A transaction.
#[derive(Debug, Object)]
#[oai(skip_serializing_if_is_none)]
pub struct Transaction {
    /// Its public identity.
    id: Uuid,
    /// The key it was pushed under.
    idempotency_key: String,
    /// Kind of its operation.
    kind: KindWord,
    /// How urgent it is.
    priority: PriorityWord,
    /// Your own reference.
    business_ref: Option<String>,
    /// What to do, in normal form.
    operation: Any<Value>,
    /// Where it stands.
    status: StatusWord,
    /// What is known of its effect.
    verdict: VerdictWord,
    /// Why it failed.
    category: Option<CategoryWord>,
    /// Hash of the transaction that decided it, else of the last one signed.
    tx_hash: Option<String>,
    /// The ledger that decided it.
    ledger: Option<u32>,
    /// Code of the last failure.
    last_error: Option<String>,
    /// Envelopes signed so far.
    attempt_count: u32,
    /// How often staff requeued it.
    generation: u32,
    /// When it was accepted.
    created_at: OffsetDateTime,
    /// When it last changed.
    updated_at: OffsetDateTime,
}

impl From<&Submission> for Transaction {
    fn from(row: &Submission) -> Self {
        Self {
            id: row.id.0,
            idempotency_key: row.key.as_str().to_owned(),
            kind: row.kind.into(),
            priority: row.priority.into(),
            business_ref: row.business_ref.clone(),
            operation: Any(row.payload.get("operation").cloned().unwrap_or_default()),
            status: row.state.status.into(),
            verdict: row.state.verdict.into(),
            category: row.state.category.map(Into::into),
            tx_hash: row.tx_hash.map(|hash| hash.to_string()),
            ledger: ledger_of(row),
            last_error: row.last_error.clone(),
            attempt_count: u32::try_from(row.attempt_count).unwrap_or(u32::MAX),
            generation: row.state.generation,
            created_at: at(row.created_at),
            updated_at: at(row.updated_at),
        }
    }
}

/// A transaction that was taken in.
#[derive(Debug, Object)]
#[oai(skip_serializing_if_is_none)]
pub struct AcceptedTransaction {
    #[oai(flatten)]
    transaction: Transaction,
    /// Fee it will probably bid, in stroops.
    est_fee: String,
    /// Seconds until it is probably confirmed; absent while nothing is known.
    est_confirmation_seconds: Option<u32>,
}

impl AcceptedTransaction {
    /// The row, with the fee it will probably bid.
    pub fn new(row: &Submission, base_fee: i64) -> Self {
        Self {
            transaction: row.into(),
            est_fee: base_fee.to_string(),
            est_confirmation_seconds: None,
        }
    }
}

/// A transaction with everything that is known of it.
#[derive(Debug, Object)]
#[oai(skip_serializing_if_is_none)]
pub struct TransactionDetail {
    #[oai(flatten)]
    transaction: Transaction,
    /// Envelopes, in the order in which they were signed.
    attempts: Vec<AttemptView>,
    /// What makes the verdict safe to believe; absent while nothing is decided.
    evidence: Option<Any<Value>>,
}

impl TransactionDetail {
    /// The row and its attempts.
    pub fn new(row: &Submission, attempts: &[Attempt]) -> Self {
        Self {
            transaction: row.into(),
            attempts: attempts.iter().map(Into::into).collect(),
            evidence: row.evidence.clone().map(Any),
        }
    }
}

/// A signed envelope.
#[derive(Debug, Object)]
#[oai(rename = "Attempt", skip_serializing_if_is_none)]
pub struct AttemptView {
    /// Hash of the transaction: of the outer one for a fee-bump.
    hash: String,
    /// Hash of the inner transaction of a fee-bump.
    inner_hash: Option<String>,
    /// The channel account it was sent from.
    source_account: String,
    /// Its sequence number.
    sequence: String,
    /// Its bid, in stroops.
    fee: String,
    /// No ledger that closes later applies it.
    max_time: OffsetDateTime,
    /// The last ledger closed before it was sent first.
    sent_after_ledger: u32,
    /// Requeues before it.
    generation: u32,
    /// Whether its fate is known.
    settled: bool,
    /// When it was signed.
    created_at: OffsetDateTime,
}

impl From<&Attempt> for AttemptView {
    fn from(attempt: &Attempt) -> Self {
        let envelope = &attempt.envelope;
        Self {
            hash: envelope.hash.to_string(),
            inner_hash: envelope.inner_hash.map(|hash| hash.to_string()),
            source_account: envelope.pair.account.to_string(),
            sequence: envelope.pair.sequence.to_string(),
            fee: envelope.fee.to_string(),
            max_time: at(i64::try_from(envelope.max_time)
                .unwrap_or(i64::MAX)
                .saturating_mul(1000)),
            sent_after_ledger: attempt.sent_after_ledger,
            generation: attempt.generation,
            settled: attempt.settled,
            created_at: at(attempt.created_at),
        }
    }
}

/// Transactions, newest first.
#[derive(Debug, Object)]
#[oai(skip_serializing_if_is_none)]
pub struct TransactionPage {
    /// The transactions.
    pub items: Vec<Transaction>,
    /// Where the next page starts; absent on the last page.
    pub next_cursor: Option<String>,
}

/// What frontends see of a transaction.
#[derive(Debug, Object)]
#[oai(skip_serializing_if_is_none)]
pub struct TransactionStatus {
    /// Its public identity.
    id: Uuid,
    /// Where it stands. Success is `confirmed` and nothing else.
    status: StatusWord,
    /// What is known of its effect.
    verdict: VerdictWord,
    /// Why it failed.
    category: Option<CategoryWord>,
    /// Hash of the transaction that decided it, else of the last one signed.
    tx_hash: Option<String>,
    /// The ledger that decided it.
    ledger: Option<u32>,
    /// When it last changed.
    updated_at: OffsetDateTime,
}

impl From<&Submission> for TransactionStatus {
    fn from(row: &Submission) -> Self {
        Self {
            id: row.id.0,
            status: row.state.status.into(),
            verdict: row.state.verdict.into(),
            category: row.state.category.map(Into::into),
            tx_hash: row.tx_hash.map(|hash| hash.to_string()),
            ledger: ledger_of(row),
            updated_at: at(row.updated_at),
        }
    }
}

fn ledger_of(row: &Submission) -> Option<u32> {
    let ledger = row.evidence.as_ref()?.get("ledger")?.as_u64()?;
    u32::try_from(ledger).ok()
}

/// A time of the ledger. One that no calendar holds can only come from a damaged row; it shows as 1970.
fn at(millis: Millis) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}
