//! What holds for whatever is known of a pair, at whatever time of the chain.

use super::*;
use crate::domain::classify::tests::{answers, failures};
use crate::domain::classify::{SendDecision, after_send};
use proptest::prelude::*;

fn sendings() -> impl Strategy<Value = Sending> {
    prop_oneof![
        Just(Sending::Idle),
        Just(Sending::Waiting),
        Just(Sending::ResendDue),
        any::<i64>().prop_map(|required| Sending::RaiseDue { required }),
        Just(Sending::Stopped(terminal())),
    ]
}

/// Times that are close to each other, now and then at the ends of the range.
fn times() -> impl Strategy<Value = u64> {
    prop_oneof![
        20 => 960_u64..1040,
        1 => 0_u64..3,
        1 => u64::MAX - 40..=u64::MAX,
    ]
}

fn pairs() -> impl Strategy<Value = Held> {
    let max_times = prop::collection::vec(times(), 0..4);
    (sendings(), max_times).prop_map(|(sending, max_times)| held(sending, &max_times))
}

fn accounts() -> impl Strategy<Value = AccountState> {
    let sequence = prop_oneof![8 => SEQ - 3..SEQ + 3, 1 => 0..=i64::MAX];
    let present = (sequence, any::<Option<u32>>()).prop_map(|(sequence, since_ledger)| {
        AccountState::Present {
            sequence,
            since_ledger,
        }
    });
    prop_oneof![6 => present, 1 => Just(AccountState::Absent)]
}

fn findings() -> impl Strategy<Value = Vec<Finding>> {
    let finding = prop_oneof![
        3 => failures().prop_map(Finding::Failed),
        2 => Just(Finding::NotFound),
        1 => Just(Finding::Unknown),
        1 => prop::sample::select(vec![Effect::Matched, Effect::Missing, Effect::Unknown])
            .prop_map(Finding::Success),
    ];
    prop::collection::vec(finding, 0..5)
}

fn expired(held: &Held, closed: u64) -> bool {
    !held.max_times.is_empty() && held.max_times.iter().all(|max_time| *max_time < closed)
}

/// How far a step is along the way of a pair that nobody uses: sent, waited for, over.
fn stage(step: &Step) -> u8 {
    match step {
        Step::Resend | Step::RaiseFee { .. } => 0,
        Step::Wait => 1,
        Step::Dead(..) | Step::AccountGone => 2,
        Step::LookUp { .. } | Step::IdleConsumed { .. } => 3,
    }
}

/// What an answer to a send makes of the row.
fn sending_after(decision: SendDecision) -> Sending {
    match decision {
        SendDecision::Acknowledged => Sending::Waiting,
        SendDecision::Resend(..) => Sending::ResendDue,
        SendDecision::RaiseFee { required } => Sending::RaiseDue { required },
        SendDecision::Stop(cause) => Sending::Stopped(cause),
    }
}

proptest! {
    /// Death needs an unused sequence and a ledger past every `max_time`; so does giving up on an account that is gone.
    #[test]
    fn death_is_never_declared_without_proof(
        held in pairs(), account in accounts(), closed in times(),
    ) {
        let over = held.sending != Sending::Idle && expired(&held, closed);
        let step = assess(&held, account, closed);
        let unused = account.sequence().is_some_and(|sequence| sequence < SEQ);
        prop_assert_eq!(matches!(step, Step::Dead(..)), unused && over);
        let absent = account == AccountState::Absent;
        prop_assert_eq!(matches!(step, Step::AccountGone), absent && over);
    }

    /// A used pair is looked up at any time, and the ledger that used it is known only while no later one did.
    #[test]
    fn a_used_pair_is_looked_up_whatever_was_answered(
        held in pairs(), account in accounts(), closed in times(),
    ) {
        let (used, at_ledger) = match account {
            AccountState::Absent => (false, None),
            AccountState::Present { sequence, since_ledger } => {
                (sequence >= SEQ, since_ledger.filter(|_| sequence == SEQ))
            }
        };
        let step = assess(&held, account, closed);
        let idle = held.sending == Sending::Idle;
        prop_assert_eq!(step == Step::LookUp { at_ledger }, used && !idle);
        prop_assert_eq!(step == Step::IdleConsumed { at_ledger }, used && idle);
    }

    /// As the chain goes on a pair is sent, waited for and buried, in this order.
    #[test]
    fn time_takes_no_step_back(
        held in pairs(), account in accounts(), one in times(), other in times(),
    ) {
        let (early, late) = (one.min(other), one.max(other));
        let (before, after) = (assess(&held, account, early), assess(&held, account, late));
        prop_assert!(stage(&before) <= stage(&after), "{before:?}, then {after:?}");
    }

    #[test]
    fn what_is_sent_is_due_and_next_and_outlives_the_margin(
        held in pairs(), account in accounts(), closed in times(),
    ) {
        let due = match assess(&held, account, closed) {
            Step::Resend => Sending::ResendDue,
            Step::RaiseFee { required } => Sending::RaiseDue { required },
            Step::Wait | Step::Dead(..) | Step::LookUp { .. } | Step::IdleConsumed { .. } | Step::AccountGone => {
                return Ok(());
            }
        };
        prop_assert_eq!(&held.sending, &due);
        prop_assert_eq!(account.sequence(), Some(SEQ - 1), "nothing is sent behind a gap");
        let outlives = |max_time: &u64| max_time.checked_sub(closed).is_some_and(|left| left > SEND_MARGIN_S);
        prop_assert!(held.max_times.iter().any(outlives));
    }

    /// No answer to a send, of whatever code, makes a pair dead early or keeps a used one from being looked up.
    #[test]
    fn no_answer_proves_anything(
        answer in answers(), account in accounts(), closed in times(), max_times in prop::collection::vec(times(), 1..4),
    ) {
        let answered = held(sending_after(after_send(&answer)), &max_times);
        let waiting = held(Sending::Waiting, &max_times);
        let (step, unanswered) = (assess(&answered, account, closed), assess(&waiting, account, closed));
        if let (Step::Dead(_, gap), Step::Dead(_, same)) = (&step, &unanswered) {
            prop_assert_eq!(gap, same);
        } else {
            let sends = stage(&step) == 0;
            prop_assert!(step == unanswered || (sends && unanswered == Step::Wait), "{step:?}");
        }
    }

    /// A conclusion names the finding it stands on; a failure counts only where nothing else could have used the pair.
    #[test]
    fn a_conclusion_stands_on_a_finding(findings in findings()) {
        let open = findings.iter().any(|it| matches!(it, Finding::Unknown | Finding::Success(Effect::Unknown)));
        let decisive = findings.iter().any(|it| matches!(it, Finding::Success(Effect::Matched | Effect::Missing)));
        match conclude(&findings) {
            Conclusion::Decided(place, Outcome::Succeeded) => {
                prop_assert_eq!(findings[place], Finding::Success(Effect::Matched));
            }
            Conclusion::Decided(place, Outcome::EffectMissing) => {
                prop_assert_eq!(findings[place], Finding::Success(Effect::Missing));
            }
            Conclusion::Decided(place, Outcome::Failed(cause)) => {
                let Finding::Failed(failure) = findings[place] else {
                    return Err(TestCaseError::fail("no failure"));
                };
                prop_assert_eq!(cause, failure_cause(failure));
                prop_assert!(!matches!(failure, Failure::Tx(TxCode::BadSeq | TxCode::NoAccount)));
                prop_assert!(!open && !decisive);
            }
            Conclusion::KeepLooking => prop_assert!(open && !decisive),
            Conclusion::Scan => prop_assert!(!open && !decisive),
        }
    }
}
