//! JSON that is no valid request.

use serde_json::{Value, json};
use tender::domain::ids::AccountId;

use crate::support::{payee, payment, pointers, problem, server};

fn set(pointer: &str, value: Value) -> Value {
    let mut body = payment();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    body.pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .expect("an object")
        .insert(name.to_owned(), value);
    body
}

fn without(pointer: &str) -> Value {
    let mut body = payment();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    body.pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .expect("an object")
        .remove(name);
    body
}

fn memo(kind: &str, value: Value) -> Value {
    let mut memo = json!({ "type": kind });
    memo["value"] = value;
    set("/operation/memo", memo)
}

/// What is sent, and where the fault is.
fn addresses_and_assets() -> Vec<(Value, &'static str)> {
    let damaged = payee().replacen('A', "B", 1);
    let seed = format!("S{}", &payee()[1..]);
    let destination = "/operation/destination";
    let asset = "/operation/asset";
    vec![
        (set(destination, json!("")), destination),
        (set(destination, json!("GABC")), destination),
        (set(destination, json!(damaged)), destination),
        (set(destination, json!(seed)), destination),
        (set(destination, json!(payee().to_lowercase())), destination),
        (
            set(destination, json!(format!(" {}", payee()))),
            destination,
        ),
        (set(destination, json!(payee() + "\u{0}")), destination),
        (set(destination, json!(7)), destination),
        (set(destination, Value::Null), destination),
        (without(destination), destination),
        (set(asset, json!("XLM")), asset),
        (set(asset, json!("USDC")), asset),
        (
            set(asset, json!(format!("TOOLONGTOOLONG:{}", payee()))),
            asset,
        ),
        (set(asset, json!(format!("US-C:{}", payee()))), asset),
        (set(asset, json!("USDC:GABC")), asset),
        (set(asset, json!({"code": "USDC"})), asset),
        (without(asset), asset),
        (
            json!({"operation": {"type": "create_account", "destination": muxed(), "starting_balance": "1"}}),
            destination,
        ),
    ]
}

fn muxed() -> String {
    let destination = tender::domain::operation::Destination {
        account: AccountId([3; 32]),
        muxed_id: Some(1),
    };
    destination.to_string()
}

fn amounts() -> Vec<(Value, &'static str)> {
    let amount = "/operation/amount";
    let texts = [
        "",
        "1.00000000",
        "0.00000001",
        "-1",
        "-0.5",
        "0",
        "0.0",
        "922337203685.4775808",
        "99999999999999999999999",
        "1e3",
        "0x10",
        "+1",
        " 1",
        "1,5",
        ".5",
        "5.",
        "NaN",
        "Infinity",
        "١",
    ];
    let mut rows: Vec<_> = texts
        .into_iter()
        .map(|text| (set(amount, json!(text)), amount))
        .collect();
    rows.extend([
        (set(amount, json!(1)), amount),
        (set(amount, json!(1.5)), amount),
        (set(amount, json!(["1"])), amount),
        (set(amount, json!(true)), amount),
        (without(amount), amount),
    ]);
    rows
}

fn memos() -> Vec<(Value, &'static str)> {
    let value = "/operation/memo/value";
    vec![
        (memo("text", json!("x".repeat(29))), value),
        (memo("text", json!("é".repeat(15))), value),
        (memo("text", json!("a\u{0}b")), value),
        (memo("text", json!(1)), value),
        (memo("id", json!("18446744073709551616")), value),
        (memo("id", json!("-1")), value),
        (memo("id", json!(7)), value),
        (memo("hash", json!("abc")), value),
        (memo("return", json!("zz".repeat(32))), value),
        (memo("none", json!("x")), "/operation/memo/type"),
        (set("/operation/memo", json!("text")), "/operation/memo"),
        (set("/operation/memo", json!({"type": "text"})), value),
        (
            set(
                "/operation/memo",
                json!({"type": "text", "value": "x", "extra": 1}),
            ),
            "/operation/memo/extra",
        ),
    ]
}

fn shapes() -> Vec<(Value, &'static str)> {
    let parts = |business_id: &str| {
        set(
            "/key_parts",
            json!({"logical_operation": "rent", "business_id": business_id, "period": "1"}),
        )
    };
    let kind = "/operation/type";
    vec![
        (json!([]), ""),
        (json!("payment"), ""),
        (Value::Null, ""),
        (json!({}), "/operation"),
        (json!({"operation": []}), "/operation"),
        (json!({"operation": {}}), kind),
        (set(kind, json!("path_payment")), kind),
        (set(kind, json!("invoke_contract")), kind),
        (set(kind, json!(1)), kind),
        (set("/unknown", json!(1)), "/unknown"),
        (set("/Priority", json!("LOW")), "/Priority"),
        (
            set("/operation/source", json!(payee())),
            "/operation/source",
        ),
        (
            json!({"a~b/c": 1, "operation": payment()["operation"]}),
            "/a~0b~1c",
        ),
        (set("/holder", json!("h")), "/holder"),
        (set("/holder", Value::Null), "/holder"),
        (set("/ordering_key", json!("k")), "/ordering_key"),
        (set("/priority", json!("URGENT")), "/priority"),
        (set("/priority", json!("normal")), "/priority"),
        (set("/priority", json!(1)), "/priority"),
        (set("/business_ref", json!("")), "/business_ref"),
        (
            set("/business_ref", json!("x".repeat(129))),
            "/business_ref",
        ),
        (set("/business_ref", json!("a\u{0}b")), "/business_ref"),
        (set("/business_ref", json!(7)), "/business_ref"),
        (set("/key_parts", json!("rent")), "/key_parts"),
        (parts(""), "/key_parts/business_id"),
        (parts(&"x".repeat(256)), "/key_parts/business_id"),
        (
            set(
                "/key_parts",
                json!({"logical_operation": "a", "business_id": "b"}),
            ),
            "/key_parts/period",
        ),
    ]
}

#[tokio::test]
async fn bad_payloads_are_refused_by_place_and_leave_their_key_usable() {
    let server = server().await;
    let tables = [addresses_and_assets(), amounts(), memos(), shapes()];
    let rows: Vec<(Value, &str)> = tables.into_iter().flatten().collect();
    assert!(rows.len() >= 80);
    for (index, (sent, pointer)) in rows.iter().enumerate() {
        let refused = problem(
            server.push(&format!("bad-{index}"), sent).await,
            422,
            "invalid_payload",
        )
        .await;
        assert_eq!(pointers(&refused), [*pointer], "{sent}");
        assert_eq!(refused["retryable"], json!(false));
    }
    assert_eq!(server.rows().await, 0, "nothing was written");
    for index in 0..rows.len() {
        let response = server.push(&format!("bad-{index}"), &payment()).await;
        assert_eq!(
            response.status().as_u16(),
            202,
            "the key of row {index} is still free"
        );
    }
}

#[tokio::test]
async fn every_fault_of_a_payload_is_named_at_once() {
    let server = server().await;
    let sent = json!({"priority": 1, "extra": 1, "operation": {"type": "payment", "amount": "0"}});
    let refused = problem(server.push("k", &sent).await, 422, "invalid_payload").await;
    let mut found = pointers(&refused);
    found.sort();
    assert_eq!(
        found,
        [
            "/extra",
            "/operation/amount",
            "/operation/asset",
            "/operation/destination",
            "/priority"
        ]
    );
}
