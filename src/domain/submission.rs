//! The life of a submission: what happened to it, and what that makes of its row, its pair and its budgets.
//!
//! Adapters never write a status of their own choosing. They report an [`Event`]; [`super::transition::next`] decides.

use super::classify::Cause;
pub use super::status::{Category, Status, Verdict};

/// Limits on automatic retries of one generation of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Proofs of death plus transient failures in a ledger.
    pub transient_failures: u32,
    /// Claims that ended without a recorded envelope.
    pub claims: u32,
}

/// What the decision needs to know of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Where it stands.
    pub status: Status,
    /// What is known of its effect.
    pub verdict: Verdict,
    /// Why it failed, if it did.
    pub category: Option<Category>,
    /// Whether it holds a pair.
    pub holds_pair: bool,
    /// Proofs of death and transient ledger failures in this generation.
    pub transient_failures: u32,
    /// Claims since an envelope was last recorded.
    pub claims: u32,
    /// How often staff requeued it.
    pub generation: u32,
}

impl State {
    /// A row as it is accepted.
    pub const ACCEPTED: Self = Self {
        status: Status::Pending,
        verdict: Verdict::Pending,
        category: None,
        holds_pair: false,
        transient_failures: 0,
        claims: 0,
        generation: 0,
    };
}

/// What happened to a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A worker claimed it and holds a pair.
    Claimed,
    /// The claim ended, by time or by a local failure, before an envelope was recorded.
    ClaimLapsed,
    /// An envelope of the pair was recorded.
    EnvelopeRecorded,
    /// Recorded bytes are about to be sent again.
    ResendBegun,
    /// A node acknowledged an envelope (`PENDING` or `DUPLICATE`).
    Acknowledged,
    /// An answer to a send changed what to do next, but proves nothing.
    AnswerNoted,
    /// In a ledger, succeeded, with the expected event.
    Succeeded,
    /// In a ledger, succeeded, and its events are there without the expected one.
    EffectMissing,
    /// In a ledger, failed, with its sequence spent: `seqNum >= seq`, and every hash of the pair was looked up.
    LedgerFailed(Cause),
    /// The account's state proves that no envelope of the pair was or will be applied.
    ProvenDead(Cause, Gap),
    /// The pair was used by a transaction that was seen and is not ours.
    ConsumedByForeign,
    /// The pair is used, or its account is gone, and no configured node can tell by whom.
    ConsumerBeyondReach,
    /// A row that had nothing alive finds its pair used.
    IdlePairConsumed(Consumer),
    /// Its record was lost, and the chain shows that its key was paid.
    Recovered(Paid, PairUse),
    /// Staff decided that an indeterminate key was paid.
    ResolvedPaid,
    /// Staff decided that an indeterminate key was not paid.
    ResolvedNotPaid,
    /// Staff or the owner withdrew it.
    Cancelled,
    /// Staff asked to run it again.
    Requeued,
    /// Put off without using an attempt: a pause, a halt, no channel free, or no key for it.
    Deferred,
}

impl Event {
    /// Whether it means that something is wrong beyond this submission: staff are called.
    #[must_use]
    pub fn is_alarming(&self) -> bool {
        match self {
            Self::EffectMissing
            | Self::ConsumedByForeign
            | Self::ConsumerBeyondReach
            | Self::Recovered(Paid::Otherwise, _)
            | Self::IdlePairConsumed(_) => true,
            Self::Claimed
            | Self::ClaimLapsed
            | Self::EnvelopeRecorded
            | Self::ResendBegun
            | Self::Acknowledged
            | Self::AnswerNoted
            | Self::Succeeded
            | Self::LedgerFailed(_)
            | Self::ProvenDead(..)
            | Self::Recovered(Paid::AsAsked, _)
            | Self::ResolvedPaid
            | Self::ResolvedNotPaid
            | Self::Cancelled
            | Self::Requeued
            | Self::Deferred => false,
        }
    }

    /// The name in the transition log.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::ClaimLapsed => "claim_lapsed",
            Self::EnvelopeRecorded => "envelope_recorded",
            Self::ResendBegun => "resend_begun",
            Self::Acknowledged => "acknowledged",
            Self::AnswerNoted => "answer_noted",
            Self::Succeeded => "succeeded",
            Self::EffectMissing => "effect_missing",
            Self::LedgerFailed(_) => "ledger_failed",
            Self::ProvenDead(..) => "proven_dead",
            Self::ConsumedByForeign => "consumed_by_foreign",
            Self::ConsumerBeyondReach => "consumer_beyond_reach",
            Self::IdlePairConsumed(_) => "idle_pair_consumed",
            Self::Recovered(Paid::AsAsked, _) => "recovered_paid",
            Self::Recovered(Paid::Otherwise, _) => "recovered_otherwise",
            Self::ResolvedPaid => "resolved_paid",
            Self::ResolvedNotPaid => "resolved_not_paid",
            Self::Cancelled => "cancelled",
            Self::Requeued => "requeued",
            Self::Deferred => "deferred",
        }
    }
}

/// Whether sequences below a dead pair's are unused, so that the pair could never be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// `seqNum == seq - 1`: the pair is next.
    None,
    /// `seqNum < seq - 1`: the account starts over at `seqNum + 1`.
    Below,
}

/// Who used a pair that nothing known of ours could have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// A transaction that carries the key's tag and does what the key asks for: its record was lost.
    Ours,
    /// A transaction that was seen and is not ours.
    Foreign,
    /// Not identified.
    Unknown,
}

/// What the chain shows of a key whose record was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paid {
    /// What the row asks for.
    AsAsked,
    /// Something else: the key was used for another request, which is forgotten.
    Otherwise,
}

/// Whether the chain has used the pair that a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairUse {
    /// By whatever transaction.
    Used,
    /// Not yet, and nothing of ours can any more.
    Unused,
}

/// What becomes of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairFate {
    /// The row keeps what it has, or goes on without one.
    Keep,
    /// The row leases a pair if it holds none.
    Lease,
    /// Used on the chain: the account, if it still exists, is free, and its next sequence follows `seqNum`.
    Spent,
    /// Given back unused: the account is free and hands the same sequence out again.
    Unused,
    /// Given back because of a gap: the account is free and starts over at `seqNum + 1`.
    Reseed,
    /// The account is set aside until staff verify it.
    Quarantine,
}

/// When the row is due again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The due time stays as it is.
    Unchanged,
    /// At once.
    Now,
    /// After the back-off of so many failures.
    Backoff(u32),
}

/// What an event makes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The row's next state.
    pub state: State,
    /// What becomes of its pair.
    pub pair: PairFate,
    /// When it is due.
    pub due: Due,
}

/// An event that cannot happen where the row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {event} is illegal for a submission that is {}", status.as_str())]
pub struct IllegalEvent {
    /// Where the row stands.
    pub status: Status,
    /// The event that was reported.
    pub event: &'static str,
}
