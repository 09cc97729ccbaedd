//! Rows to the domain's words and back. What cannot be read is an error, never a panic.

use std::fmt::Display;
use std::str::FromStr;

use sea_orm::DbErr;

use super::entity::{attempt, channel, log, submission};
use super::types::{Attempt, Channel, ChannelState, Envelope, LogEntry, SendState, Submission};
use crate::domain::classify::{Cause, Class};
use crate::domain::ids::{Fence, Pair, SubmissionId, Version};
use crate::domain::key::{Fingerprint, KeyTag};
use crate::domain::operation::OperationKind;
use crate::domain::schedule::Priority;
use crate::domain::submission::{Category, State, Status, Verdict};

/// A row that does not read as what was written.
pub(super) fn corrupt(what: impl Display) -> DbErr {
    DbErr::Type(format!("unreadable {what}"))
}

fn named<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, text: &str) -> Result<T, DbErr> {
    all.iter()
        .copied()
        .find(|value| name(*value) == text)
        .ok_or_else(|| corrupt(text))
}

fn parse<T: FromStr>(text: &str) -> Result<T, DbErr> {
    text.parse().map_err(|_| corrupt(text))
}

fn parse_some<T: FromStr>(text: Option<&str>) -> Result<Option<T>, DbErr> {
    text.map(parse).transpose()
}

fn count(number: i32) -> Result<u32, DbErr> {
    u32::try_from(number).map_err(|_| corrupt(number))
}

/// A count as the database holds it.
pub(super) fn stored(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// A tag as the database holds it: the same bits.
pub(super) fn stored_tag(tag: KeyTag) -> i64 {
    i64::from_ne_bytes(tag.0.to_ne_bytes())
}

pub(super) fn class_of(text: &str) -> Result<Class, DbErr> {
    named(&[Class::Transient, Class::Terminal], Class::as_str, text)
}

pub(super) fn status_of(text: &str) -> Result<Status, DbErr> {
    named(&Status::ALL, Status::as_str, text)
}

/// Where a row stands.
pub(super) fn state(row: &submission::Model) -> Result<State, DbErr> {
    Ok(State {
        status: status_of(&row.status)?,
        verdict: named(&Verdict::ALL, Verdict::as_str, &row.verdict)?,
        category: row
            .category
            .as_deref()
            .map(|text| named(&Category::ALL, Category::as_str, text))
            .transpose()?,
        holds_pair: row.pair_held,
        transient_failures: count(row.transient_failures)?,
        claims: count(row.claims)?,
        generation: count(row.generation)?,
    })
}

pub(super) fn pair(account: &str, sequence: i64) -> Result<Pair, DbErr> {
    Ok(Pair {
        account: parse(account)?,
        sequence,
    })
}

fn sending(row: &submission::Model) -> Result<SendState, DbErr> {
    let missing = || corrupt("send state");
    Ok(match row.send_state.as_str() {
        "waiting" => SendState::Waiting,
        "resend" => SendState::Resend(row.send_at.ok_or_else(missing)?),
        "raise_fee" => SendState::RaiseFee {
            required: row.send_required.ok_or_else(missing)?,
            operations: row.send_operations.ok_or_else(missing)?,
            at: row.send_at.ok_or_else(missing)?,
        },
        "stopped" => SendState::Stopped(Cause {
            class: class_of(row.stop_class.as_deref().ok_or_else(missing)?)?,
            code: row.last_error.clone().unwrap_or_default(),
        }),
        _ => return Err(missing()),
    })
}

pub(super) fn submission(row: submission::Model) -> Result<Submission, DbErr> {
    let mut fingerprint = [0; 32];
    hex::decode_to_slice(&row.fingerprint, &mut fingerprint).map_err(corrupt)?;
    let held = match (&row.source_account, row.sequence) {
        (Some(account), Some(sequence)) => Some(pair(account, sequence)?),
        (None, _) | (_, None) => None,
    };
    Ok(Submission {
        id: SubmissionId(row.id),
        tenant: parse(&row.tenant)?,
        key: parse(&row.idempotency_key)?,
        tag: KeyTag(u64::from_ne_bytes(row.tag.to_ne_bytes())),
        kind: named(&OperationKind::ALL, OperationKind::as_str, &row.kind)?,
        priority: Priority::from_rank(row.priority).ok_or_else(|| corrupt(row.priority))?,
        fingerprint: Fingerprint(fingerprint),
        state: state(&row)?,
        version: Version(row.version),
        pair: held,
        fence: row.fence.map(Fence),
        tx_hash: parse_some(row.tx_hash.as_deref())?,
        sending: sending(&row)?,
        business_ref: row.business_ref,
        payload: row.payload,
        last_error: row.last_error,
        attempt_count: row.attempt_count,
        evidence: row.evidence,
        next_attempt_at: row.next_attempt_at,
        round: row.round,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

pub(super) fn attempt(row: attempt::Model) -> Result<Attempt, DbErr> {
    Ok(Attempt {
        id: row.id,
        submission: SubmissionId(row.submission_id),
        generation: count(row.generation)?,
        envelope: Envelope {
            pair: pair(&row.source_account, row.sequence)?,
            hash: parse(&row.hash)?,
            inner_hash: parse_some(row.inner_hash.as_deref())?,
            xdr: row.envelope_xdr,
            fee: row.fee,
            operations: row.operations,
            max_time: u64::try_from(row.max_time).map_err(corrupt)?,
        },
        sent_after_ledger: u32::try_from(row.sent_after_ledger).map_err(corrupt)?,
        settled: row.settled,
        created_at: row.created_at,
    })
}

pub(super) fn log_entry(row: log::Model) -> LogEntry {
    LogEntry {
        version: Version(row.version),
        event: row.event,
        from: row.from_status,
        to: row.to_status,
        actor: row.actor,
        detail: row.detail,
        at: row.at,
    }
}

pub(super) fn channel(row: channel::Model) -> Result<Channel, DbErr> {
    Ok(Channel {
        account: parse(&row.account)?,
        state: named(&ChannelState::ALL, ChannelState::as_str, &row.state)?,
        next_sequence: row.next_sequence,
        leased_by: row.leased_by.map(SubmissionId),
        reason: row.reason,
    })
}
