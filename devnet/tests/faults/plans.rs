//! Plans by themselves: the same seed decides the same, and rules do not disturb each other.

use stellar_xdr::Hash;
use tender_devnet::faults::{
    Call, CallRule, CloseFault, Fault, FaultPlan, Hashes, Loss, MAX_LEDGERS, MAX_RULES, Rule,
    RuleError, When,
};
use tender_devnet::rpc::Method;

const SLOW: Fault = Fault::Slow { ms: 1 };
const LOST: Fault = Fault::AnswerLostAfterAccept(Loss::Reset);

/// What a plan decides about a thousand calls of different methods and hashes.
fn decisions(seed: u64, rules: &[Rule]) -> Vec<Option<Fault>> {
    let mut plan = FaultPlan::ruled(seed, rules.to_vec()).unwrap();
    let calls = (0..1000_usize).map(|index| {
        let method = Method::ALL[index % Method::ALL.len()];
        let hash = Hash([u8::try_from(index % 251).unwrap(); 32]);
        let hash = (index % 3 > 0).then_some(&hash);
        plan.decide(Call { method, hash })
    });
    calls.collect()
}

fn picked(when: When) -> Vec<usize> {
    let mut plan = FaultPlan::ruled(1, vec![Rule::call(SLOW, &[], when)]).unwrap();
    let call = Call {
        method: Method::GetHealth,
        hash: None,
    };
    (1..=12).filter(|_| plan.decide(call).is_some()).collect()
}

#[test]
fn calls_are_picked_by_their_number() {
    assert_eq!(picked(When::Nth(3)), [3]);
    assert_eq!(picked(When::Every(5)), [5, 10]);
    assert_eq!(picked(When::UpTo(2)), [1, 2]);
    assert_eq!(picked(When::From(11)), [11, 12]);
    assert_eq!(picked(When::Always).len(), 12);
    assert_eq!(picked(When::Share(0)).len(), 0);
    assert_eq!(picked(When::Share(1000)).len(), 12);
}

#[test]
fn the_same_seed_decides_the_same_and_another_one_does_not() {
    let rules = [
        Rule::call(LOST, &[Method::SendTransaction], When::Share(300)),
        Rule::call(SLOW, &[], When::Share(300)),
    ];
    let first = decisions(7, &rules);
    assert_eq!(first, decisions(7, &rules));
    assert_ne!(first, decisions(8, &rules));
    let slow = first.iter().filter(|fault| **fault == Some(SLOW)).count();
    assert!((200..380).contains(&slow), "{slow}");
}

#[test]
fn a_rule_does_the_same_with_others_behind_it_and_the_first_one_decides() {
    let one = [Rule::call(LOST, &[], When::Share(300))];
    let two = [one[0].clone(), Rule::call(SLOW, &[], When::Share(500))];
    let (alone, both) = (decisions(7, &one), decisions(7, &two));
    for (alone, both) in alone.iter().zip(&both) {
        assert!(*both == *alone || (alone.is_none() && *both == Some(SLOW)));
    }
    assert!(both.contains(&Some(SLOW)));
}

#[test]
fn a_share_of_transactions_is_picked_by_hash_however_often_and_in_whatever_order() {
    let rule = Rule::Call(CallRule {
        methods: vec![Method::SendTransaction],
        hashes: Hashes::Share(400),
        when: When::Always,
        fault: LOST,
    });
    let mut plan = FaultPlan::ruled(5, vec![rule]).unwrap();
    let mut decide = |index: u8| {
        let call = Call {
            method: Method::SendTransaction,
            hash: Some(&Hash([index; 32])),
        };
        plan.decide(call).is_some()
    };
    let forwards: Vec<bool> = (0..=255).map(&mut decide).collect();
    let mut backwards: Vec<bool> = (0..=255).rev().map(&mut decide).collect();
    backwards.reverse();
    assert_eq!(forwards, backwards);
    let picked = forwards.iter().filter(|picked| **picked).count();
    assert!((70..140).contains(&picked), "{picked}");
}

#[test]
fn faults_of_ledgers_add_up() {
    let empty = CloseFault::Empty { ledgers: 1 };
    let skew = CloseFault::Skew {
        seconds: 5,
        ledgers: 1,
    };
    let rules = vec![
        Rule::close(empty, When::Every(2)),
        Rule::close(skew, When::Every(3)),
        Rule::call(SLOW, &[], When::Always),
    ];
    let mut plan = FaultPlan::ruled(1, rules).unwrap();
    let closes: Vec<_> = (0..6).map(|_| plan.decide_close()).collect();
    assert_eq!(closes[0], []);
    assert_eq!(closes[1], [empty]);
    assert_eq!(closes[2], [skew]);
    assert_eq!(closes[5], [empty, skew]);
}

#[test]
fn numbers_out_of_range_are_refused() {
    let refused = |rule| FaultPlan::ruled(1, vec![rule]).unwrap_err();
    let empty = |ledgers| CloseFault::Empty { ledgers };
    for ledgers in [0, MAX_LEDGERS + 1] {
        let error = refused(Rule::close(empty(ledgers), When::Always));
        assert!(matches!(error, RuleError::OutOfRange { .. }), "{error}");
    }
    let zero = refused(Rule::call(SLOW, &[], When::Every(0)));
    assert_eq!(zero, RuleError::CountsFromOne);
    let many = vec![Rule::call(SLOW, &[], When::Always); MAX_RULES + 1];
    assert_eq!(
        FaultPlan::ruled(1, many).unwrap_err(),
        RuleError::TooManyRules
    );
}
