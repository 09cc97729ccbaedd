//! The life of a submission: its states, the events that move it, and the one function that decides.
//!
//! Adapters never write a status of their own choosing. They report an [`Event`]; [`next`] says what becomes of the
//! row, its pair and its budgets, or that the event is illegal where the row stands.

use super::classify::{Cause, Class};

/// Where a submission stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Waits for its turn. It may hold a pair whose envelopes are all proven dead.
    Pending,
    /// Claimed by a worker that holds a pair and has not recorded an envelope of this claim yet.
    Building,
    /// An envelope is recorded. The network may have it.
    Submitted,
    /// A node acknowledged an envelope: it is in a queue, or was.
    Confirming,
    /// In a ledger, with the expected effect. Terminal.
    Confirmed,
    /// Without effect for certain, except when the category says `effect_missing`. Terminal until staff requeue it.
    Failed,
    /// Withdrawn before any envelope could take effect. Terminal.
    Cancelled,
    /// Checked without sending. Terminal.
    Simulated,
}

impl Status {
    /// All states.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Building,
        Self::Submitted,
        Self::Confirming,
        Self::Confirmed,
        Self::Failed,
        Self::Cancelled,
        Self::Simulated,
    ];

    /// The name in the API and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Building => "building",
            Self::Submitted => "submitted",
            Self::Confirming => "confirming",
            Self::Confirmed => "confirmed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Simulated => "simulated",
        }
    }

    /// Whether pollers may stop: nothing but staff moves the row from here.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Pending | Self::Building | Self::Submitted | Self::Confirming => false,
            Self::Confirmed | Self::Failed | Self::Cancelled | Self::Simulated => true,
        }
    }
}

/// What is known of the effect on the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Nothing was decided yet.
    Pending,
    /// A transaction of the key succeeded in a ledger.
    Success,
    /// A transaction of the key is in a ledger, failed: no effect.
    Failed,
    /// No envelope of the key can be applied any more, and none was.
    Expired,
    /// Withdrawn before it could take effect.
    Cancelled,
    /// The sequence is used and the history that would tell by whom is out of reach. Staff decide.
    Indeterminate,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Success,
        Self::Failed,
        Self::Expired,
        Self::Cancelled,
        Self::Indeterminate,
    ];

    /// The name in the API and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Success => "SUCCESS",
            Self::Failed => "FAILED",
            Self::Expired => "EXPIRED",
            Self::Cancelled => "CANCELLED",
            Self::Indeterminate => "INDETERMINATE",
        }
    }
}

/// Why a submission failed, as far as frontends need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// It could have worked, but the retry budget is spent.
    TransientExhausted,
    /// Trying again changes nothing.
    Terminal,
    /// The transaction succeeded without the expected event: money may have moved.
    EffectMissing,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 3] = [
        Self::TransientExhausted,
        Self::Terminal,
        Self::EffectMissing,
    ];

    /// The name in the API and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TransientExhausted => "transient_exhausted",
            Self::Terminal => "terminal",
            Self::EffectMissing => "effect_missing",
        }
    }
}

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
    /// The pair is used, or its account is gone, and no configured node's history can tell by whom.
    ConsumerBeyondReach(Presence),
    /// A row that had nothing alive finds its pair used.
    IdlePairConsumed(Consumer),
    /// Staff decided that an indeterminate key was paid.
    ResolvedPaid,
    /// Staff decided that an indeterminate key was not paid.
    ResolvedNotPaid,
    /// Staff or the owner withdrew it.
    Cancelled,
    /// Staff asked to run it again.
    Requeued,
    /// Put off without using an attempt: a pause, a halt, or no channel free.
    Deferred,
}

impl Event {
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
            Self::ConsumerBeyondReach(_) => "consumer_beyond_reach",
            Self::IdlePairConsumed(_) => "idle_pair_consumed",
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

/// Who used a pair that nothing of ours could have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// A transaction that was seen and is not ours.
    Foreign,
    /// Not identified.
    Unknown,
}

/// Whether the channel account still exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It does, with the sequence used.
    Present,
    /// It was merged away.
    Absent,
}

/// What becomes of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairFate {
    /// The row keeps what it has, or goes on without one.
    Keep,
    /// The row leases a pair if it holds none.
    Lease,
    /// Used on the chain: the account is free, its next sequence follows `seqNum`.
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

/// Decides what `event` makes of a row in `state`.
///
/// # Errors
/// [`IllegalEvent`]: nothing must be written.
pub fn next(state: &State, event: &Event, budget: Budget) -> Result<Next, IllegalEvent> {
    let illegal = || IllegalEvent {
        status: state.status,
        event: event.as_str(),
    };
    if state.verdict == Verdict::Indeterminate && !state.status.is_terminal() {
        return indeterminate(state, event, budget).ok_or_else(illegal);
    }
    match state.status {
        Status::Pending => pending(state, event),
        Status::Building => building(state, event, budget),
        Status::Submitted | Status::Confirming => in_flight(state, event, budget),
        Status::Failed => failed(state, event),
        Status::Confirmed | Status::Cancelled | Status::Simulated => None,
    }
    .ok_or_else(illegal)
}

fn pending(state: &State, event: &Event) -> Option<Next> {
    match event {
        Event::Claimed => Some(Next {
            state: State {
                status: Status::Building,
                holds_pair: true,
                claims: state.claims + 1,
                ..*state
            },
            pair: PairFate::Lease,
            due: Due::Unchanged,
        }),
        Event::Cancelled => Some(Next {
            state: State {
                status: Status::Cancelled,
                verdict: Verdict::Cancelled,
                holds_pair: false,
                ..*state
            },
            pair: give_back(state),
            due: Due::Unchanged,
        }),
        Event::Deferred => Some(Next {
            state: State {
                holds_pair: false,
                ..*state
            },
            pair: give_back(state),
            due: Due::Unchanged,
        }),
        Event::IdlePairConsumed(consumer) if state.holds_pair => {
            Some(without_idle_pair(state, *consumer))
        }
        Event::IdlePairConsumed(_)
        | Event::ClaimLapsed
        | Event::EnvelopeRecorded
        | Event::ResendBegun
        | Event::Acknowledged
        | Event::AnswerNoted
        | Event::Succeeded
        | Event::EffectMissing
        | Event::LedgerFailed(_)
        | Event::ProvenDead(..)
        | Event::ConsumedByForeign
        | Event::ConsumerBeyondReach(_)
        | Event::ResolvedPaid
        | Event::ResolvedNotPaid
        | Event::Requeued => None,
    }
}

fn building(state: &State, event: &Event, budget: Budget) -> Option<Next> {
    match event {
        Event::EnvelopeRecorded => Some(Next {
            state: State {
                status: Status::Submitted,
                claims: 0,
                ..*state
            },
            pair: PairFate::Keep,
            due: Due::Unchanged,
        }),
        Event::ClaimLapsed if state.claims >= budget.claims => Some(failure(
            state,
            Category::TransientExhausted,
            Verdict::Expired,
            PairFate::Unused,
        )),
        Event::ClaimLapsed => Some(Next {
            state: State {
                status: Status::Pending,
                ..*state
            },
            pair: PairFate::Keep,
            due: Due::Backoff(state.claims),
        }),
        Event::IdlePairConsumed(consumer) => Some(without_idle_pair(state, *consumer)),
        Event::Deferred => Some(Next {
            state: State {
                status: Status::Pending,
                holds_pair: false,
                claims: state.claims.saturating_sub(1),
                ..*state
            },
            pair: PairFate::Unused,
            due: Due::Unchanged,
        }),
        Event::Claimed
        | Event::ResendBegun
        | Event::Acknowledged
        | Event::AnswerNoted
        | Event::Succeeded
        | Event::EffectMissing
        | Event::LedgerFailed(_)
        | Event::ProvenDead(..)
        | Event::ConsumedByForeign
        | Event::ConsumerBeyondReach(_)
        | Event::ResolvedPaid
        | Event::ResolvedNotPaid
        | Event::Cancelled
        | Event::Requeued => None,
    }
}

fn in_flight(state: &State, event: &Event, budget: Budget) -> Option<Next> {
    let same = Next {
        state: *state,
        pair: PairFate::Keep,
        due: Due::Unchanged,
    };
    match event {
        Event::EnvelopeRecorded | Event::ResendBegun | Event::AnswerNoted => Some(same),
        Event::Acknowledged => Some(Next {
            state: State {
                status: Status::Confirming,
                ..*state
            },
            ..same
        }),
        Event::Succeeded => Some(Next {
            state: State {
                status: Status::Confirmed,
                verdict: Verdict::Success,
                holds_pair: false,
                ..*state
            },
            pair: PairFate::Spent,
            due: Due::Unchanged,
        }),
        Event::EffectMissing => Some(failure(
            state,
            Category::EffectMissing,
            Verdict::Success,
            PairFate::Spent,
        )),
        Event::LedgerFailed(cause) => Some(after_ledger_failure(state, cause, budget)),
        Event::ProvenDead(cause, gap) => Some(after_death(state, cause, *gap, budget)),
        Event::ConsumedByForeign => Some(Next {
            state: State {
                status: Status::Pending,
                holds_pair: false,
                ..*state
            },
            pair: PairFate::Quarantine,
            due: Due::Now,
        }),
        Event::ConsumerBeyondReach(presence) => Some(Next {
            state: State {
                verdict: Verdict::Indeterminate,
                holds_pair: false,
                ..*state
            },
            pair: match presence {
                Presence::Present => PairFate::Spent,
                Presence::Absent => PairFate::Quarantine,
            },
            due: Due::Unchanged,
        }),
        Event::Claimed
        | Event::ClaimLapsed
        | Event::IdlePairConsumed(_)
        | Event::ResolvedPaid
        | Event::ResolvedNotPaid
        | Event::Cancelled
        | Event::Requeued
        | Event::Deferred => None,
    }
}

/// A row whose outcome is out of reach: late look-ups or staff settle it, and nothing is sent meanwhile.
fn indeterminate(state: &State, event: &Event, budget: Budget) -> Option<Next> {
    match event {
        Event::Succeeded | Event::EffectMissing | Event::LedgerFailed(_) => in_flight(
            &State {
                verdict: Verdict::Pending,
                ..*state
            },
            event,
            budget,
        )
        .map(|next| Next {
            pair: PairFate::Keep,
            ..next
        }),
        Event::ResolvedPaid => Some(Next {
            state: State {
                status: Status::Confirmed,
                verdict: Verdict::Success,
                ..*state
            },
            pair: PairFate::Keep,
            due: Due::Unchanged,
        }),
        Event::ResolvedNotPaid => Some(failure(
            state,
            Category::Terminal,
            Verdict::Expired,
            PairFate::Keep,
        )),
        Event::Claimed
        | Event::ClaimLapsed
        | Event::EnvelopeRecorded
        | Event::ResendBegun
        | Event::Acknowledged
        | Event::AnswerNoted
        | Event::ProvenDead(..)
        | Event::ConsumedByForeign
        | Event::ConsumerBeyondReach(_)
        | Event::IdlePairConsumed(_)
        | Event::Cancelled
        | Event::Requeued
        | Event::Deferred => None,
    }
}

/// A failed row runs again only when no transaction of the key ever succeeded.
fn failed(state: &State, event: &Event) -> Option<Next> {
    match event {
        Event::Requeued if state.verdict != Verdict::Success => Some(Next {
            state: State {
                generation: state.generation + 1,
                ..State::ACCEPTED
            },
            pair: PairFate::Keep,
            due: Due::Now,
        }),
        Event::Requeued
        | Event::Claimed
        | Event::ClaimLapsed
        | Event::EnvelopeRecorded
        | Event::ResendBegun
        | Event::Acknowledged
        | Event::AnswerNoted
        | Event::Succeeded
        | Event::EffectMissing
        | Event::LedgerFailed(_)
        | Event::ProvenDead(..)
        | Event::ConsumedByForeign
        | Event::ConsumerBeyondReach(_)
        | Event::IdlePairConsumed(_)
        | Event::ResolvedPaid
        | Event::ResolvedNotPaid
        | Event::Cancelled
        | Event::Deferred => None,
    }
}

fn failure(state: &State, category: Category, verdict: Verdict, pair: PairFate) -> Next {
    let state = State {
        status: Status::Failed,
        verdict,
        category: Some(category),
        holds_pair: false,
        ..*state
    };
    Next {
        state,
        pair,
        due: Due::Unchanged,
    }
}

/// The category of a failure that ends the row, or `None` when the budget allows another try.
fn exhausted(state: &State, cause: &Cause, budget: Budget) -> Option<Category> {
    match cause.class {
        Class::Terminal => Some(Category::Terminal),
        Class::Transient if state.transient_failures >= budget.transient_failures => {
            Some(Category::TransientExhausted)
        }
        Class::Transient => None,
    }
}

fn after_ledger_failure(state: &State, cause: &Cause, budget: Budget) -> Next {
    if let Some(category) = exhausted(state, cause, budget) {
        return failure(state, category, Verdict::Failed, PairFate::Spent);
    }
    let failures = state.transient_failures + 1;
    Next {
        state: State {
            status: Status::Pending,
            holds_pair: false,
            transient_failures: failures,
            ..*state
        },
        pair: PairFate::Spent,
        due: Due::Backoff(failures),
    }
}

/// After proven death the next envelope takes the same pair, unless a gap below makes the pair useless.
fn after_death(state: &State, cause: &Cause, gap: Gap, budget: Budget) -> Next {
    let (released, kept) = match gap {
        Gap::None => (PairFate::Unused, PairFate::Keep),
        Gap::Below => (PairFate::Reseed, PairFate::Reseed),
    };
    if let Some(category) = exhausted(state, cause, budget) {
        return failure(state, category, Verdict::Expired, released);
    }
    let failures = state.transient_failures + 1;
    let holds_pair = kept == PairFate::Keep;
    Next {
        state: State {
            status: Status::Pending,
            holds_pair,
            transient_failures: failures,
            ..*state
        },
        pair: kept,
        due: Due::Backoff(failures),
    }
}

fn give_back(state: &State) -> PairFate {
    if state.holds_pair {
        PairFate::Unused
    } else {
        PairFate::Keep
    }
}

/// Every envelope of an idle pair is proven dead, so whoever used it was not ours: start over with another pair.
fn without_idle_pair(state: &State, consumer: Consumer) -> Next {
    Next {
        state: State {
            status: Status::Pending,
            holds_pair: false,
            ..*state
        },
        pair: match consumer {
            Consumer::Foreign => PairFate::Quarantine,
            Consumer::Unknown => PairFate::Spent,
        },
        due: Due::Now,
    }
}

#[cfg(test)]
#[path = "submission_tests.rs"]
mod tests;
