use serde_json::{Value, json};

use super::*;
use crate::domain::ids::AccountId;
use crate::flow::accept::{canonical, operation_of};

fn payee() -> String {
    AccountId([3; 32]).to_string()
}

fn payment() -> Value {
    json!({"operation": {"type": "payment", "destination": payee(), "asset": "native", "amount": "1"}})
}

fn with(pointer: &str, value: Value) -> Value {
    let mut body = payment();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    body.pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .expect("an object")
        .insert(name.to_owned(), value);
    body
}

fn faults(body: &Value) -> Vec<String> {
    match parse(body) {
        Ok(_) => Vec::new(),
        Err(bad) => bad.0.into_iter().map(|fault| fault.pointer).collect(),
    }
}

#[test]
fn the_normal_form_fills_defaults_in_and_writes_amounts_alike() {
    let request = parse(&payment()).expect("good");
    assert_eq!(
        request.normal_form(),
        json!({
            "priority": "NORMAL",
            "operation": {"type": "payment", "destination": payee(), "asset": "native", "amount": "1.0000000"},
        })
    );
    let spelled = with("/operation/amount", json!("1.0"));
    let normal = parse(&spelled).expect("good").normal_form();
    assert_eq!(canonical(&normal), canonical(&request.normal_form()));
    let nulls = with("/operation/memo", Value::Null);
    assert_eq!(parse(&nulls).expect("good"), request);
}

#[test]
fn operations_are_read_back_from_what_is_stored() {
    let memos = [
        json!({"type": "text", "value": "x"}),
        json!({"type": "id", "value": "18446744073709551615"}),
        json!({"type": "hash", "value": "AB".repeat(32)}),
        json!({"type": "return", "value": "cd".repeat(32)}),
    ];
    for memo in memos {
        let request = parse(&with("/operation/memo", memo)).expect("good");
        assert_eq!(operation_of(&request.normal_form()), Ok(request.operation));
    }
    let create = json!({"priority": "CRITICAL", "business_ref": "r", "operation":
        {"type": "create_account", "destination": payee(), "starting_balance": "2.5"}});
    let request = parse(&create).expect("good");
    assert_eq!(operation_of(&request.normal_form()), Ok(request.operation));
    assert!(operation_of(&json!({})).is_err());
}

#[test]
fn all_faults_are_reported_at_once() {
    let body = json!({
        "priority": "URGENT", "business_ref": "", "holder": "h", "ordering_key": null, "extra": 1,
        "operation": {"type": "payment", "destination": "G", "asset": 7, "memo": {"type": "x", "value": "y"}},
        "key_parts": {"logical_operation": "rent", "business_id": ""},
    });
    let mut found = faults(&body);
    found.sort();
    assert_eq!(
        found,
        [
            "/business_ref",
            "/extra",
            "/holder",
            "/key_parts/business_id",
            "/key_parts/period",
            "/operation/amount",
            "/operation/asset",
            "/operation/destination",
            "/operation/memo/type",
            "/ordering_key",
            "/priority",
        ]
    );
}

#[test]
fn memos_hold_what_their_type_allows() {
    for (kind, value) in [
        ("text", "x".repeat(29)),
        ("text", "a\u{0}b".to_owned()),
        ("id", "+1".to_owned()),
        ("id", "-1".to_owned()),
        ("id", String::new()),
        ("id", "18446744073709551616".to_owned()),
        ("hash", "ab".to_owned()),
        ("hash", "zz".repeat(32)),
    ] {
        let body = with("/operation/memo", json!({"type": kind, "value": value}));
        assert_eq!(faults(&body), ["/operation/memo/value"], "{kind} {value}");
    }
}

#[test]
fn features_of_later_versions_are_refused_by_name() {
    let call = json!({"operation": {"type": "invoke_contract", "contract": "C", "function": "f", "args": []}});
    let bad = parse(&call).expect_err("refused");
    assert_eq!(bad.0.len(), 1);
    assert!(bad.0[0].detail.contains("invoke_contract"));
}

#[test]
fn key_parts_give_the_key_and_are_no_part_of_the_payload() {
    let parts = json!({"logical_operation": "rent", "business_id": "7", "period": "2026-01"});
    let request = parse(&with("/key_parts", parts)).expect("good");
    assert_eq!(
        request.derived_key,
        IdempotencyKey::derive("rent", "7", "2026-01").ok()
    );
    assert_eq!(
        request.normal_form(),
        parse(&payment()).expect("good").normal_form()
    );
}

#[test]
fn the_number_of_faults_is_bounded() {
    let fields: Map<String, Value> = (0..1000).map(|n| (format!("f{n}"), json!(1))).collect();
    assert_eq!(faults(&Value::Object(fields)).len(), 50);
}
