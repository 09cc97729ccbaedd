use std::time::Duration;

use futures::future::join_all;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tender::domain::key::IdempotencyKey;

use crate::support::{body, header, payee, payment, pointers, problem, server, text};

#[tokio::test]
async fn a_new_transaction_is_taken_in() {
    let server = server().await;
    let mut request = payment();
    request["priority"] = json!("CRITICAL");
    request["business_ref"] = json!("invoice-7");
    request["operation"]["memo"] = json!({"type": "text", "value": "rent"});
    let response = server.push("invoice-7", &request).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert_eq!(header(&response, "retry-after"), Some("1"));
    assert_eq!(header(&response, "idempotent-replayed"), None);
    let location = header(&response, "location")
        .expect("a location")
        .to_owned();
    let taken = body(response).await;
    assert_eq!(location, format!("/transactions/{}", text(&taken, "id")));
    for (name, value) in [
        ("idempotency_key", json!("invoice-7")),
        ("kind", json!("payment")),
        ("priority", json!("CRITICAL")),
        ("business_ref", json!("invoice-7")),
        ("status", json!("pending")),
        ("verdict", json!("PENDING")),
        ("attempt_count", json!(0)),
        ("est_fee", json!("100")),
    ] {
        assert_eq!(taken.get(name), Some(&value), "{name} in {taken}");
    }
    assert_eq!(
        taken["operation"],
        json!({"type": "payment", "destination": payee(), "asset": "native", "amount": "12.5000000",
               "memo": {"type": "text", "value": "rent"}})
    );
    assert!(text(&taken, "created_at").ends_with('Z'));
    assert_eq!(
        taken.get("est_confirmation_seconds"),
        None,
        "nothing is known yet"
    );
    // The feed was woken.
    tokio::time::timeout(Duration::from_secs(5), server.nudge.notified())
        .await
        .expect("a nudge");

    let read = server.get(&location).send().await.expect("an answer");
    assert_eq!(read.status(), StatusCode::OK);
    let read = body(read).await;
    assert_eq!(read["id"], taken["id"]);
    assert_eq!(
        (&read["attempts"], &read["evidence"]),
        (&json!([]), &Value::Null)
    );
}

#[tokio::test]
async fn the_same_key_and_request_answer_the_same_transaction() {
    let server = server().await;
    let first = body(server.push("k", &payment()).await).await;
    let mut spelled = payment();
    spelled["operation"]["amount"] = json!("12.50");
    spelled["operation"]["memo"] = Value::Null;
    spelled["priority"] = json!("NORMAL");
    for request in [payment(), spelled] {
        let again = server.push("k", &request).await;
        assert_eq!(again.status(), StatusCode::OK);
        assert_eq!(header(&again, "idempotent-replayed"), Some("true"));
        assert_eq!(body(again).await["id"], first["id"]);
    }
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn pushes_of_one_key_at_once_make_one_row() {
    let server = server().await;
    let request = payment();
    let answers = join_all((0..16).map(|_| server.push("k", &request))).await;
    let new = answers
        .iter()
        .filter(|answer| answer.status() == StatusCode::ACCEPTED)
        .count();
    assert_eq!(new, 1);
    assert!(answers.iter().all(|answer| answer.status().is_success()));
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn another_request_under_a_key_is_refused_by_place_and_never_by_value() {
    let server = server().await;
    let mut first = payment();
    first["business_ref"] = json!("secret-reference");
    first["operation"]["memo"] = json!({"type": "text", "value": "secret-memo"});
    server.push("k", &first).await;
    let mut other = payment();
    other["operation"]["amount"] = json!("13");
    other["priority"] = json!("LOW");
    let refused = problem(
        server.push("k", &other).await,
        422,
        "idempotency_key_reused",
    )
    .await;
    assert_eq!(
        pointers(&refused),
        [
            "/business_ref",
            "/operation/amount",
            "/operation/memo",
            "/priority"
        ]
    );
    let shown = refused.to_string();
    assert!(
        !shown.contains("secret-") && !shown.contains("12.5"),
        "{shown}"
    );
    assert_eq!(refused["retryable"], json!(false));
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn key_parts_stand_for_the_header() {
    let server = server().await;
    let parts = json!({"logical_operation": "rent", "business_id": "7", "period": "2026-01"});
    let mut request = payment();
    request["key_parts"] = parts;
    let derived = IdempotencyKey::derive("rent", "7", "2026-01").expect("a key");
    let post = || server.post("/transactions", &request);
    let response = post().send().await.expect("an answer");
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert_eq!(
        body(response).await["idempotency_key"],
        json!(derived.as_str())
    );
    let both = post().header("Idempotency-Key", derived.as_str()).send();
    assert_eq!(both.await.expect("an answer").status(), StatusCode::OK);
    let different = post().header("Idempotency-Key", "other").send();
    problem(
        different.await.expect("an answer"),
        400,
        "idempotency_key_mismatch",
    )
    .await;
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn accounts_are_created_too() {
    let server = server().await;
    let request = json!({"operation": {"type": "create_account", "destination": payee(), "starting_balance": "2"}});
    let response = server.push("k", &request).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let taken = body(response).await;
    assert_eq!(taken["kind"], json!("create_account"));
    assert_eq!(taken["operation"]["starting_balance"], json!("2.0000000"));
}
