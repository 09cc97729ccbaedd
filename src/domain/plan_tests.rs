use super::*;
use crate::domain::classify::Class;
use crate::domain::codes::{OpFailure, PaymentCode};
use crate::domain::ids::AccountId;

const SEQ: i64 = 100;

fn held(sending: Sending, max_times: &[u64]) -> Held {
    Held {
        pair: Pair {
            account: AccountId([1; 32]),
            sequence: SEQ,
        },
        max_times: max_times.to_vec(),
        sending,
    }
}

fn at(sequence: i64) -> AccountState {
    AccountState::Present {
        sequence,
        since_ledger: Some(9),
    }
}

fn terminal() -> Cause {
    Cause {
        class: Class::Terminal,
        code: "txBAD_AUTH".to_owned(),
    }
}

#[test]
fn an_unused_pair_waits_until_every_envelope_expired() {
    let row = held(Sending::Waiting, &[1000, 1060]);
    assert_eq!(
        assess(&row, at(SEQ - 1), 1001),
        Step::Wait,
        "one envelope lives on"
    );
    assert_eq!(
        assess(&row, at(SEQ - 1), 1060),
        Step::Wait,
        "max_time itself is still valid"
    );
    assert_eq!(
        assess(&row, at(SEQ - 1), 1061),
        Step::Dead(Cause::expired(), Gap::None)
    );
    assert_eq!(
        assess(&row, at(SEQ - 2), 1061),
        Step::Dead(Cause::expired(), Gap::Below)
    );
}

#[test]
fn a_row_in_flight_whose_envelopes_were_not_read_is_left_alone() {
    assert_eq!(
        assess(&held(Sending::Waiting, &[]), at(SEQ - 1), 5000),
        Step::Wait
    );
    assert_eq!(
        assess(&held(Sending::Stopped(terminal()), &[]), at(SEQ - 1), 5000),
        Step::Wait
    );
    assert_eq!(
        assess(&held(Sending::Waiting, &[]), AccountState::Absent, 5000),
        Step::Wait
    );
}

#[test]
fn a_terminal_cause_still_waits_for_proof() {
    let row = held(Sending::Stopped(terminal()), &[1000]);
    assert_eq!(assess(&row, at(SEQ - 1), 999), Step::Wait);
    assert_eq!(
        assess(&row, at(SEQ - 1), 1001),
        Step::Dead(terminal(), Gap::None)
    );
    assert_eq!(
        assess(&row, at(SEQ), 1001),
        Step::LookUp { at_ledger: Some(9) },
        "a refusal proves nothing"
    );
}

#[test]
fn a_used_pair_is_looked_up_and_never_dead() {
    for sending in [
        Sending::Waiting,
        Sending::ResendDue,
        Sending::RaiseDue { required: 9 },
        Sending::Stopped(terminal()),
    ] {
        assert_eq!(
            assess(&held(sending.clone(), &[1000]), at(SEQ), 5000),
            Step::LookUp { at_ledger: Some(9) }
        );
        assert_eq!(
            assess(&held(sending, &[1000]), at(SEQ + 3), 5000),
            Step::LookUp { at_ledger: None }
        );
    }
    assert_eq!(
        assess(&held(Sending::Idle, &[]), at(SEQ), 1),
        Step::IdleConsumed { at_ledger: Some(9) }
    );
}

#[test]
fn sends_stop_before_a_node_would_refuse_them() {
    let resend = held(Sending::ResendDue, &[1000]);
    assert_eq!(
        assess(&resend, at(SEQ - 1), 1000 - SEND_MARGIN_S - 1),
        Step::Resend
    );
    assert_eq!(
        assess(&resend, at(SEQ - 1), 1000 - SEND_MARGIN_S),
        Step::Wait
    );
    let raise = held(Sending::RaiseDue { required: 7 }, &[1000]);
    assert_eq!(
        assess(&raise, at(SEQ - 1), 900),
        Step::RaiseFee { required: 7 }
    );
}

#[test]
fn nothing_is_sent_behind_a_gap() {
    for sending in [Sending::ResendDue, Sending::RaiseDue { required: 7 }] {
        let row = held(sending, &[1000]);
        assert_eq!(assess(&row, at(SEQ - 2), 900), Step::Wait);
        assert_ne!(assess(&row, at(SEQ - 1), 900), Step::Wait);
    }
}

#[test]
fn a_missing_account_proves_nothing_before_expiry() {
    let row = held(Sending::Waiting, &[1000]);
    assert_eq!(assess(&row, AccountState::Absent, 1000), Step::Wait);
    assert_eq!(assess(&row, AccountState::Absent, 1001), Step::AccountGone);
}

#[test]
fn conclusions_follow_the_ledger_and_nothing_else() {
    let underfunded = Failure::Op(OpFailure::Payment(PaymentCode::Underfunded));
    let failed = Finding::Failed(underfunded);
    let not_spent = Finding::Failed(Failure::Tx(TxCode::BadSeq));
    let decided = Conclusion::Decided;
    let table: [(&[Finding], Conclusion); 9] = [
        (
            &[Finding::Success(Effect::Matched)],
            decided(0, Outcome::Succeeded),
        ),
        (
            &[failed, Finding::Success(Effect::Matched)],
            decided(1, Outcome::Succeeded),
        ),
        (
            &[Finding::Success(Effect::Missing)],
            decided(0, Outcome::EffectMissing),
        ),
        (
            &[Finding::Success(Effect::Unknown)],
            Conclusion::KeepLooking,
        ),
        (
            &[not_spent, failed, Finding::NotFound, failed],
            decided(1, Outcome::Failed(failure_cause(underfunded))),
        ),
        (&[failed, Finding::Unknown], Conclusion::KeepLooking),
        (&[not_spent, Finding::NotFound], Conclusion::Scan),
        (&[Finding::NotFound], Conclusion::Scan),
        (
            &[Finding::NotFound, Finding::Unknown],
            Conclusion::KeepLooking,
        ),
    ];
    for (findings, conclusion) in table {
        assert_eq!(conclude(findings), conclusion, "{findings:?}");
    }
}

#[test]
fn of_two_nodes_the_one_that_found_more_is_believed() {
    let failed = Finding::Failed(Failure::Tx(TxCode::Failed));
    let by_weight = [
        Finding::NotFound,
        Finding::Unknown,
        failed,
        Finding::Success(Effect::Unknown),
        Finding::Success(Effect::Missing),
        Finding::Success(Effect::Matched),
    ];
    for (n, less) in by_weight.iter().enumerate() {
        for more in &by_weight[n..] {
            assert_eq!(less.or(*more), *more);
            assert_eq!(more.or(*less), *more);
        }
    }
}

#[test]
fn an_outcome_is_looked_for_until_every_envelope_has_long_expired() {
    let row = held(Sending::Waiting, &[1000, 1100]);
    assert!(!looked_long_enough(&row, 1100 + LOOKING_S));
    assert!(looked_long_enough(&row, 1101 + LOOKING_S));
}

#[test]
fn an_outcome_is_told_to_the_row_and_to_staff() {
    let cause = failure_cause(Failure::Tx(TxCode::InternalError));
    let failed = Outcome::Failed(cause.clone());
    let table = [
        (Outcome::Succeeded, Event::Succeeded, None),
        (
            Outcome::EffectMissing,
            Event::EffectMissing,
            Some("effect_missing"),
        ),
        (failed, Event::LedgerFailed(cause), Some("txINTERNAL_ERROR")),
    ];
    for (outcome, event, code) in table {
        assert_eq!(outcome.code(), code);
        assert_eq!(outcome.into_event(), event);
    }
}

#[test]
fn an_account_tells_its_sequence_if_it_exists() {
    assert_eq!(at(SEQ).sequence(), Some(SEQ));
    assert_eq!(AccountState::Absent.sequence(), None);
}

#[path = "plan_properties.rs"]
mod properties;
