use super::super::submission::{Paid, PairUse};
use super::*;
use proptest::prelude::*;

const BUDGET: Budget = Budget {
    transient_failures: 2,
    claims: 3,
};

fn cause(class: Class) -> Cause {
    Cause {
        class,
        code: "x".to_owned(),
    }
}

fn events() -> Vec<Event> {
    let mut all = vec![
        Event::Claimed,
        Event::ClaimLapsed,
        Event::EnvelopeRecorded,
        Event::ResendBegun,
        Event::Acknowledged,
        Event::AnswerNoted,
        Event::Succeeded,
        Event::EffectMissing,
        Event::ConsumedByForeign,
        Event::ConsumerBeyondReach,
        Event::IdlePairConsumed(Consumer::Ours),
        Event::IdlePairConsumed(Consumer::Foreign),
        Event::IdlePairConsumed(Consumer::Unknown),
        Event::Recovered(Paid::AsAsked, PairUse::Used),
        Event::Recovered(Paid::AsAsked, PairUse::Unused),
        Event::Recovered(Paid::Otherwise, PairUse::Used),
        Event::Recovered(Paid::Otherwise, PairUse::Unused),
        Event::ResolvedPaid,
        Event::ResolvedNotPaid,
        Event::Cancelled,
        Event::Requeued,
        Event::Deferred,
    ];
    for class in [Class::Transient, Class::Terminal] {
        all.push(Event::LedgerFailed(cause(class)));
        for gap in [Gap::None, Gap::Below] {
            all.push(Event::ProvenDead(cause(class), gap));
        }
    }
    all
}

fn state(status: Status) -> State {
    let holds_pair = matches!(
        status,
        Status::Building | Status::Submitted | Status::Confirming
    );
    let verdict = match status {
        Status::Confirmed => Verdict::Success,
        Status::Failed => Verdict::Expired,
        Status::Cancelled => Verdict::Cancelled,
        Status::Pending
        | Status::Building
        | Status::Submitted
        | Status::Confirming
        | Status::Simulated => Verdict::Pending,
    };
    State {
        status,
        holds_pair,
        verdict,
        claims: 1,
        ..State::ACCEPTED
    }
}

/// The table of the protocol, row by row: which events are legal where, and where they lead.
#[test]
fn legal_transitions_are_exactly_these() {
    use Status::{Building, Cancelled, Confirmed, Confirming, Failed, Pending, Submitted};
    let mut legal = Vec::new();
    for status in Status::ALL {
        for event in events() {
            if let Ok(next) = next(&state(status), &event, BUDGET) {
                legal.push((status, event.as_str(), next.state.status));
            }
        }
    }
    legal.dedup();
    let in_flight = |from: Status| {
        vec![
            (from, "envelope_recorded", from),
            (from, "resend_begun", from),
            (from, "acknowledged", Confirming),
            (from, "answer_noted", from),
            (from, "succeeded", Confirmed),
            (from, "effect_missing", Failed),
            (from, "consumed_by_foreign", Pending),
            (from, "consumer_beyond_reach", from),
            (from, "ledger_failed", Pending),
            (from, "proven_dead", Pending),
            (from, "ledger_failed", Failed),
            (from, "proven_dead", Failed),
        ]
    };
    let mut expected = vec![
        (Pending, "claimed", Building),
        (Pending, "cancelled", Cancelled),
        (Pending, "deferred", Pending),
        (Building, "claim_lapsed", Pending),
        (Building, "envelope_recorded", Submitted),
        (Building, "idle_pair_consumed", Submitted),
        (Building, "idle_pair_consumed", Pending),
        (Building, "deferred", Pending),
    ];
    expected.extend(in_flight(Submitted));
    expected.extend(in_flight(Confirming));
    expected.push((Failed, "requeued", Pending));
    let recovered = |entry: &(Status, &str, Status)| entry.1.starts_with("recovered");
    let (recovered, usual): (Vec<_>, Vec<_>) = legal.into_iter().partition(recovered);
    assert_eq!(usual, expected);
    // What the chain shows to be paid is paid, whatever is left of the row.
    let mut expected = Vec::new();
    for from in Status::ALL.into_iter().filter(|from| *from != Confirmed) {
        expected.push((from, "recovered_paid", Confirmed));
        expected.push((from, "recovered_otherwise", Failed));
    }
    assert_eq!(recovered, expected);
}

#[test]
fn budgets_end_a_row_and_a_terminal_cause_ends_it_at_once() {
    let spent = State {
        transient_failures: 2,
        ..state(Status::Confirming)
    };
    let dead = Event::ProvenDead(cause(Class::Transient), Gap::None);
    let next_of = |state: &State, event: &Event| next(state, event, BUDGET).expect("legal");
    let failed = next_of(&spent, &dead);
    assert_eq!(
        (failed.state.status, failed.state.category),
        (Status::Failed, Some(Category::TransientExhausted))
    );
    assert_eq!(
        (failed.state.verdict, failed.pair),
        (Verdict::Expired, PairFate::Unused)
    );
    let terminal = next_of(
        &state(Status::Submitted),
        &Event::LedgerFailed(cause(Class::Terminal)),
    );
    assert_eq!(
        (terminal.state.category, terminal.state.verdict),
        (Some(Category::Terminal), Verdict::Failed)
    );
    assert_eq!(terminal.pair, PairFate::Spent);
    let unbuilt = next_of(
        &State {
            claims: 3,
            ..state(Status::Building)
        },
        &Event::ClaimLapsed,
    );
    assert_eq!(
        (unbuilt.state.status, unbuilt.pair),
        (Status::Failed, PairFate::Unused)
    );
}

#[test]
fn a_lapsed_claim_backs_off_only_when_it_repeats() {
    let due_after = |claims| {
        let row = State {
            claims,
            ..state(Status::Building)
        };
        next(&row, &Event::ClaimLapsed, BUDGET).expect("legal").due
    };
    assert_eq!((due_after(1), due_after(2)), (Due::Now, Due::Backoff(1)));
}

#[test]
fn a_dead_pair_is_used_again_unless_there_is_a_gap_below_it() {
    let row = state(Status::Confirming);
    let again = next(
        &row,
        &Event::ProvenDead(cause(Class::Transient), Gap::None),
        BUDGET,
    )
    .expect("legal");
    assert_eq!(
        (again.pair, again.state.holds_pair, again.due),
        (PairFate::Keep, true, Due::Backoff(1))
    );
    let anew = next(
        &row,
        &Event::ProvenDead(cause(Class::Transient), Gap::Below),
        BUDGET,
    )
    .expect("legal");
    assert_eq!(
        (anew.pair, anew.state.holds_pair),
        (PairFate::Reseed, false)
    );
}

#[test]
fn an_indeterminate_row_is_settled_by_evidence_or_by_staff_and_never_sent() {
    let unknown = next(
        &state(Status::Confirming),
        &Event::ConsumerBeyondReach,
        BUDGET,
    )
    .expect("legal")
    .state;
    assert_eq!(
        (unknown.status, unknown.verdict, unknown.holds_pair),
        (Status::Confirming, Verdict::Indeterminate, false)
    );
    let legal: Vec<_> = events()
        .into_iter()
        .filter(|event| next(&unknown, event, BUDGET).is_ok())
        .map(|event| event.as_str())
        .collect();
    assert_eq!(
        legal,
        [
            "succeeded",
            "effect_missing",
            "recovered_paid",
            "recovered_paid",
            "recovered_otherwise",
            "recovered_otherwise",
            "resolved_paid",
            "resolved_not_paid",
            "ledger_failed",
            "ledger_failed"
        ]
    );
    let paid = next(&unknown, &Event::ResolvedPaid, BUDGET)
        .expect("legal")
        .state;
    assert_eq!(
        (paid.status, paid.verdict),
        (Status::Confirmed, Verdict::Success)
    );
}

#[test]
fn what_may_have_moved_money_is_never_requeued() {
    let missing = next(&state(Status::Confirming), &Event::EffectMissing, BUDGET)
        .expect("legal")
        .state;
    assert_eq!(
        (missing.status, missing.category),
        (Status::Failed, Some(Category::EffectMissing))
    );
    assert!(next(&missing, &Event::Requeued, BUDGET).is_err());
    let again = next(&state(Status::Failed), &Event::Requeued, BUDGET)
        .expect("legal")
        .state;
    assert_eq!(
        again,
        State {
            generation: 1,
            ..State::ACCEPTED
        }
    );
}

#[test]
fn an_idle_pair_that_was_used_starts_the_row_over_unless_its_user_was_ours() {
    let row = State {
        holds_pair: true,
        ..state(Status::Pending)
    };
    let table = [
        (Consumer::Foreign, Status::Pending, PairFate::Quarantine),
        (Consumer::Unknown, Status::Pending, PairFate::Spent),
        (Consumer::Ours, Status::Submitted, PairFate::Spent),
    ];
    for (consumer, status, pair) in table {
        let event = Event::IdlePairConsumed(consumer);
        for row in [row, state(Status::Building)] {
            let after = next(&row, &event, BUDGET).expect("legal");
            assert_eq!((after.state.status, after.pair), (status, pair));
            let held_for_staff = after.state.verdict == Verdict::Indeterminate;
            assert_eq!(held_for_staff, consumer == Consumer::Ours);
        }
        let without = state(Status::Pending);
        assert!(next(&without, &event, BUDGET).is_err(), "it has no pair");
    }
}

#[test]
fn staff_are_called_for_what_is_wrong_beyond_one_submission() {
    let alarming: Vec<_> = events()
        .iter()
        .filter(|event| event.is_alarming())
        .map(Event::as_str)
        .collect();
    assert_eq!(
        alarming,
        [
            "effect_missing",
            "consumed_by_foreign",
            "consumer_beyond_reach",
            "idle_pair_consumed",
            "idle_pair_consumed",
            "idle_pair_consumed",
            "recovered_otherwise",
            "recovered_otherwise",
        ]
    );
}

#[test]
fn an_illegal_event_names_itself_and_where_the_row_stands() {
    let illegal = next(&state(Status::Cancelled), &Event::Claimed, BUDGET).expect_err("it ended");
    assert_eq!(
        illegal.to_string(),
        "event claimed is illegal for a submission that is cancelled"
    );
}

#[path = "transition_properties.rs"]
mod properties;
