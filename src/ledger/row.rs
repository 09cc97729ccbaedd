//! From rows to the domain's words. A row that does not read as what was written is [`LedgerError::Corrupt`].

use std::fmt::Display;
use std::str::FromStr;

use serde_json::Value;

use super::entity::{attempt, channel, log, submission};
use super::types::{
    Attempt, Channel, ChannelState, Envelope, LedgerError, LogEntry, SendState, Submission,
};
use crate::domain::classify::{Cause, Class};
use crate::domain::ids::{Fence, Pair, SubmissionId, TxHash, Version};
use crate::domain::key::{Fingerprint, KeyTag};
use crate::domain::memory::MemoryState;
use crate::domain::operation::OperationKind;
use crate::domain::schedule::Priority;
use crate::domain::submission::{Category, State, Status, Verdict};

/// The column does not hold what was written into it.
fn corrupt(column: &str, why: impl Display) -> LedgerError {
    LedgerError::Corrupt(format!("{column}: {why}"))
}

/// A text that has a grammar of its own.
pub(super) fn parsed<T: FromStr<Err: Display>>(column: &str, text: &str) -> Result<T, LedgerError> {
    text.parse().map_err(|fault| corrupt(column, fault))
}

/// One of a few names.
pub(super) fn named<T: Copy>(
    column: &str,
    all: &[T],
    name: fn(T) -> &'static str,
    text: &str,
) -> Result<T, LedgerError> {
    all.iter()
        .copied()
        .find(|value| name(*value) == text)
        .ok_or_else(|| corrupt(column, format!("unknown name {text:?}")))
}

/// A number in a narrower type than the column's.
pub(super) fn narrow<T: TryFrom<N>, N>(column: &str, number: N) -> Result<T, LedgerError> {
    T::try_from(number).map_err(|_| corrupt(column, "out of range"))
}

/// 32 bytes in hexadecimal.
pub(super) fn bytes32(column: &str, text: &str) -> Result<[u8; 32], LedgerError> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).map_err(|fault| corrupt(column, fault))?;
    Ok(bytes)
}

pub(super) fn json(column: &str, text: &str) -> Result<Value, LedgerError> {
    serde_json::from_str(text).map_err(|fault| corrupt(column, fault))
}

pub(super) fn hash(column: &str, text: Option<&String>) -> Result<Option<TxHash>, LedgerError> {
    text.map(|text| parsed(column, text)).transpose()
}

/// A status by name.
pub(super) fn status(text: &str) -> Result<Status, LedgerError> {
    named("status", &Status::ALL, Status::as_str, text)
}

/// A priority by rank.
pub(super) fn priority(rank: i16) -> Result<Priority, LedgerError> {
    Priority::from_rank(rank).ok_or_else(|| corrupt("priority", rank))
}

impl TryFrom<submission::Model> for Submission {
    type Error = LedgerError;

    fn try_from(row: submission::Model) -> Result<Self, LedgerError> {
        let evidence = row.evidence.as_ref();
        Ok(Self {
            id: SubmissionId(row.id),
            tenant: parsed("tenant", &row.tenant)?,
            key: parsed("idempotency_key", &row.idempotency_key)?,
            tag: KeyTag(row.key_tag.cast_unsigned()),
            kind: named(
                "logical_operation",
                &OperationKind::ALL,
                OperationKind::as_str,
                &row.logical_operation,
            )?,
            priority: priority(row.priority)?,
            payload: json("payload", &row.payload)?,
            fingerprint: Fingerprint(bytes32("fingerprint", &row.fingerprint)?),
            state: state(&row)?,
            version: Version(row.version),
            pair: pair(row.source_account.as_ref(), row.sequence)?,
            fence: row.fence.map(Fence),
            tx_hash: hash("tx_hash", row.tx_hash.as_ref())?,
            sending: sending(&row)?,
            attempt_count: row.attempt_count,
            evidence: evidence.map(|text| json("evidence", text)).transpose()?,
            business_ref: row.business_ref,
            last_error: row.last_error,
            next_attempt_at: row.next_attempt_at,
            round: row.dispatch_round,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

fn state(row: &submission::Model) -> Result<State, LedgerError> {
    let category = row.category.as_ref();
    Ok(State {
        status: status(&row.status)?,
        verdict: named("verdict", &Verdict::ALL, Verdict::as_str, &row.verdict)?,
        category: category
            .map(|text| named("category", &Category::ALL, Category::as_str, text))
            .transpose()?,
        holds_pair: row.pair_held,
        transient_failures: narrow("transient_failures", row.transient_failures)?,
        claims: narrow("claims", row.claims)?,
        generation: narrow("generation", row.generation)?,
    })
}

fn pair(account: Option<&String>, sequence: Option<i64>) -> Result<Option<Pair>, LedgerError> {
    match (account, sequence) {
        (Some(account), Some(sequence)) => Ok(Some(Pair {
            account: parsed("source_account", account)?,
            sequence,
        })),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(corrupt("source_account", "half a pair")),
    }
}

fn sending(row: &submission::Model) -> Result<SendState, LedgerError> {
    let missing = || corrupt("send_state", "a column that belongs to it is empty");
    let at = || row.send_at.ok_or_else(missing);
    match row.send_state.as_str() {
        "waiting" => Ok(SendState::Waiting),
        "resend" => Ok(SendState::Resend(at()?)),
        "raise_fee" => Ok(SendState::RaiseFee {
            required: row.send_required.ok_or_else(missing)?,
            operations: row.send_operations.ok_or_else(missing)?,
            at: at()?,
        }),
        "stopped" => Ok(SendState::Stopped(Cause {
            class: named(
                "stop_class",
                &[Class::Transient, Class::Terminal],
                Class::as_str,
                row.stop_class.as_ref().ok_or_else(missing)?,
            )?,
            code: row.stop_code.clone().ok_or_else(missing)?,
        })),
        other => Err(corrupt("send_state", format!("unknown name {other:?}"))),
    }
}

impl TryFrom<attempt::Model> for Attempt {
    type Error = LedgerError;

    fn try_from(row: attempt::Model) -> Result<Self, LedgerError> {
        Ok(Self {
            id: row.id,
            submission: SubmissionId(row.submission_id),
            generation: narrow("generation", row.generation)?,
            envelope: Envelope {
                pair: Pair {
                    account: parsed("source_account", &row.source_account)?,
                    sequence: row.sequence,
                },
                hash: parsed("hash", &row.hash)?,
                inner_hash: hash("inner_hash", row.inner_hash.as_ref())?,
                xdr: row.envelope_xdr,
                fee: row.fee,
                operations: row.operations,
                max_time: narrow("max_time", row.max_time)?,
            },
            sent_after_ledger: narrow("sent_after_ledger", row.sent_after_ledger)?,
            settled: row.settled,
            created_at: row.created_at,
        })
    }
}

impl TryFrom<log::Model> for LogEntry {
    type Error = LedgerError;

    fn try_from(row: log::Model) -> Result<Self, LedgerError> {
        let detail = row.detail.as_ref();
        Ok(Self {
            version: Version(row.version),
            detail: detail.map(|text| json("detail", text)).transpose()?,
            event: row.event,
            from: row.from_status,
            to: row.to_status,
            actor: row.actor,
            at: row.at,
        })
    }
}

/// The state of the ledger's memory by name.
pub(super) fn memory_state(text: &str) -> Result<MemoryState, LedgerError> {
    named("state", &MemoryState::ALL, MemoryState::as_str, text)
}

/// The state of a channel account by name.
pub(super) fn channel_state(text: &str) -> Result<ChannelState, LedgerError> {
    named("state", &ChannelState::ALL, ChannelState::as_str, text)
}

impl TryFrom<channel::Model> for Channel {
    type Error = LedgerError;

    fn try_from(row: channel::Model) -> Result<Self, LedgerError> {
        Ok(Self {
            account: parsed("account", &row.account)?,
            state: channel_state(&row.state)?,
            next_sequence: row.next_sequence,
            leased_by: row.leased_by.map(SubmissionId),
            reason: row.reason,
        })
    }
}
