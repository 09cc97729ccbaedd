//! The one function that decides what an event makes of a submission.

use super::classify::{Cause, Class};
use super::memory::recovered;
use super::status::{Category, Status, Verdict};
use super::submission::{Budget, Consumer, Due, Event, Gap, IllegalEvent, Next, PairFate, State};

/// Decides what `event` makes of a row in `state`.
///
/// # Errors
/// [`IllegalEvent`]: nothing must be written.
pub fn next(state: &State, event: &Event, budget: Budget) -> Result<Next, IllegalEvent> {
    let illegal = || IllegalEvent {
        status: state.status,
        event: event.as_str(),
    };
    if let Event::Recovered(paid, pair) = event {
        return recovered(state, *paid, *pair).ok_or_else(illegal);
    }
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
        | Event::ConsumerBeyondReach
        | Event::Recovered(..)
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
            // The first time the worker probably died, which says nothing about the row.
            due: match state.claims {
                0 | 1 => Due::Now,
                more => Due::Backoff(more - 1),
            },
        }),
        Event::IdlePairConsumed(consumer) => Some(without_idle_pair(state, *consumer)),
        // Dropping the pair is safe: nothing was recorded under this claim, and whatever was before is proven dead.
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
        | Event::ConsumerBeyondReach
        | Event::Recovered(..)
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
        Event::ConsumerBeyondReach => Some(Next {
            state: State {
                verdict: Verdict::Indeterminate,
                holds_pair: false,
                ..*state
            },
            pair: PairFate::Spent,
            due: Due::Unchanged,
        }),
        Event::Claimed
        | Event::ClaimLapsed
        | Event::IdlePairConsumed(_)
        | Event::Recovered(..)
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
        | Event::ConsumerBeyondReach
        | Event::IdlePairConsumed(_)
        | Event::Recovered(..)
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
        | Event::ConsumerBeyondReach
        | Event::IdlePairConsumed(_)
        | Event::Recovered(..)
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

/// Every known envelope of an idle pair is proven dead, so whoever used it was not ours: start over with another pair.
/// Unless it was: then the record of an envelope was lost, and the key must not be paid again.
fn without_idle_pair(state: &State, consumer: Consumer) -> Next {
    let (status, verdict, pair) = match consumer {
        Consumer::Foreign => (Status::Pending, state.verdict, PairFate::Quarantine),
        Consumer::Unknown => (Status::Pending, state.verdict, PairFate::Spent),
        Consumer::Ours => (Status::Submitted, Verdict::Indeterminate, PairFate::Spent),
    };
    Next {
        state: State {
            status,
            verdict,
            holds_pair: false,
            ..*state
        },
        pair,
        due: Due::Now,
    }
}

#[cfg(test)]
#[path = "transition_tests.rs"]
mod tests;
