use super::*;
use crate::stellar::recorded::{FEE_EVENTS, META, PAYMENTS, RESULT, RESULTS};
use serde_json::Value;

fn effect_of(event: &str) -> Effect {
    effect::of_event(&convert::read(event).expect("an event")).expect("an effect")
}

fn paid() -> Effect {
    effect_of(PAYMENTS[0].3)
}

/// An answer to a look-up of the first recorded payment, as the RPC gives it.
fn answer() -> Value {
    json!({
        "status": "SUCCESS",
        "txHash": PAYMENTS[0].1,
        "latestLedger": 13,
        "latestLedgerCloseTime": "1767225660",
        "oldestLedger": 2,
        "oldestLedgerCloseTime": "1767225600",
        "ledger": 12,
        "createdAt": "1767225655",
        "applicationOrder": 1,
        "feeBump": false,
        "envelopeXdr": PAYMENTS[0].2,
        "resultXdr": RESULT,
        "resultMetaXdr": META,
        "events": {
            "transactionEventsXdr": FEE_EVENTS,
            "contractEventsXdr": [[PAYMENTS[0].3]],
        },
    })
}

fn look(answer: Value, effect: &Effect) -> Result<Lookup, Fault> {
    read(&serde_json::from_value(answer).expect("an answer"), effect)
}

fn effect_found(answer: Value, effect: &Effect) -> plan::Effect {
    match look(answer, effect).expect("a look-up").finding {
        Finding::Success(effect) => effect,
        finding => panic!("{finding:?}"),
    }
}

#[test]
fn a_success_tells_its_effect_its_ledger_and_its_fee() {
    let lookup = look(answer(), &paid()).expect("a look-up");
    let expected = Lookup {
        finding: Finding::Success(plan::Effect::Matched),
        seen: Seen {
            ledger: 13,
            close_time: 1_767_225_660,
        },
        oldest_ledger: 2,
        ledger: Some(12),
        closed_at: Some(1_767_225_655),
        fee_charged: Some(100),
    };
    assert_eq!(lookup, expected);
    let mut numbers = answer();
    numbers["createdAt"] = json!(1_767_225_655);
    numbers["latestLedgerCloseTime"] = json!(1_767_225_660);
    assert_eq!(look(numbers, &paid()), Ok(expected));
}

#[test]
fn events_are_read_from_the_meta_where_the_answer_has_none() {
    let other = effect_of(PAYMENTS[4].3);
    for events in [Value::Null, json!({}), json!({ "contractEventsXdr": null })] {
        let mut from_meta = answer();
        from_meta["events"] = events;
        assert_eq!(
            effect_found(from_meta.clone(), &paid()),
            plan::Effect::Matched
        );
        assert_eq!(
            effect_found(from_meta.clone(), &other),
            plan::Effect::Missing
        );
        from_meta["resultMetaXdr"] = Value::Null;
        assert_eq!(
            effect_found(from_meta.clone(), &paid()),
            plan::Effect::Unknown
        );
        from_meta["resultMetaXdr"] = json!("AAAA");
        assert_eq!(effect_found(from_meta, &paid()), plan::Effect::Unknown);
    }
}

#[test]
fn an_effect_is_missing_only_among_events_that_are_there_and_can_all_be_read() {
    let other = effect_of(PAYMENTS[4].3);
    let with = |contract: Value, transaction: Value| {
        let mut answer = answer();
        answer["events"] = json!({
            "contractEventsXdr": contract,
            "transactionEventsXdr": transaction,
        });
        answer
    };
    let event = PAYMENTS[0].3;
    let table = [
        (json!([[event]]), json!([]), plan::Effect::Missing),
        (json!([[]]), json!(FEE_EVENTS), plan::Effect::Missing),
        (json!([[]]), json!([]), plan::Effect::Unknown),
        (json!([]), Value::Null, plan::Effect::Unknown),
        (
            json!([[event], ["AAAA"]]),
            json!(FEE_EVENTS),
            plan::Effect::Unknown,
        ),
    ];
    for (contract, transaction, expected) in table {
        assert_eq!(
            effect_found(with(contract.clone(), transaction), &other),
            expected,
            "{contract}"
        );
    }
    let unread_beside = with(json!([["AAAA", event]]), json!([]));
    assert_eq!(effect_found(unread_beside, &paid()), plan::Effect::Matched);
}

#[test]
fn failures_in_a_ledger_are_told_by_their_result() {
    for (code, result, fee) in RESULTS {
        let mut failed = answer();
        failed["status"] = json!("FAILED");
        failed["resultXdr"] = json!(result);
        let lookup = look(failed, &paid());
        if code.contains("SUCCESS") {
            assert_eq!(lookup, Err(Fault::Malformed), "{code}");
            continue;
        }
        let lookup = lookup.expect(code);
        assert!(matches!(lookup.finding, Finding::Failed(_)), "{code}");
        assert_eq!(lookup.fee_charged, Some(fee), "{code}");
    }
}

#[test]
fn contradictions_and_unknown_words_are_no_answer() {
    let failure = RESULTS[0].1;
    let table = [
        ("SUCCESS", json!(failure), Fault::Malformed),
        ("FAILED", Value::Null, Fault::Malformed),
        ("FAILED", json!("AAAA"), Fault::Malformed),
        ("PERHAPS", json!(RESULT), Fault::UnknownStatus),
    ];
    for (status, result, fault) in table {
        let mut odd = answer();
        odd["status"] = json!(status);
        odd["resultXdr"] = result;
        assert_eq!(look(odd, &paid()), Err(fault), "{status}");
    }
}

#[test]
fn a_hash_that_is_not_found_tells_how_far_the_node_looked() {
    let absent = json!({
        "status": "NOT_FOUND",
        "txHash": PAYMENTS[0].1,
        "latestLedger": 13,
        "latestLedgerCloseTime": "1767225660",
        "oldestLedger": 2,
        "oldestLedgerCloseTime": "1767225600",
        "ledger": 0,
        "createdAt": "0",
    });
    let lookup = look(absent, &paid()).expect("a look-up");
    assert_eq!(lookup.finding, Finding::NotFound);
    assert_eq!((lookup.seen.ledger, lookup.oldest_ledger), (13, 2));
    assert_eq!(
        (lookup.ledger, lookup.closed_at, lookup.fee_charged),
        (None, None, None)
    );
}
