use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tender::domain::ids::SubmissionId;
use tender::flow::keys::Scope;

use crate::support::{Server, body, pointers, problem, server, text};

async fn staffed() -> (Server, String) {
    let mut server = server().await;
    let id = server.pushed("k").await;
    // Staff work for every tenant.
    server.token = server.key("operations", &[Scope::OutboxWrite]).await;
    (server, id)
}

async fn act(server: &Server, id: &str, verb: &str, request: &Value) -> Response {
    let path = format!("/admin/transactions/{id}/{verb}");
    server.post(&path, request).send().await.expect("an answer")
}

fn because() -> Value {
    json!({"reason": "the payee asked"})
}

#[tokio::test]
async fn a_pending_transaction_is_cancelled_once_and_the_reason_is_kept() {
    let (server, id) = staffed().await;
    let cancelled = act(&server, &id, "cancel", &because()).await;
    assert_eq!(cancelled.status(), StatusCode::OK);
    let cancelled = body(cancelled).await;
    assert_eq!(
        (text(&cancelled, "status"), text(&cancelled, "verdict")),
        ("cancelled".into(), "CANCELLED".into())
    );
    let again = act(&server, &id, "cancel", &because()).await;
    let refused = problem(again, 409, "not_cancellable").await;
    assert!(text(&refused, "detail").contains("cancelled"));
    let id: SubmissionId = id.parse().expect("an id");
    let log = server.ledger.log(id).await.expect("a log");
    let entry = log
        .iter()
        .find(|entry| entry.event == "cancelled")
        .expect("an entry");
    let key = server.token.split('_').nth(1).expect("an id");
    assert_eq!(entry.actor, format!("key:{key}"));
    assert!(
        entry
            .detail
            .as_ref()
            .expect("details")
            .to_string()
            .contains("the payee asked")
    );
}

#[tokio::test]
async fn only_failures_are_requeued() {
    let (server, id) = staffed().await;
    problem(
        act(&server, &id, "requeue", &because()).await,
        409,
        "not_failed",
    )
    .await;
    act(&server, &id, "cancel", &because()).await;
    problem(
        act(&server, &id, "requeue", &because()).await,
        409,
        "not_failed",
    )
    .await;
}

#[tokio::test]
async fn changes_need_a_reason_and_a_transaction() {
    let (server, id) = staffed().await;
    for verb in ["cancel", "requeue"] {
        for (request, pointer) in [
            (json!({}), "/reason"),
            (json!({"reason": " "}), "/reason"),
            (json!({"reason": 7}), "/reason"),
            (json!({"reason": "x".repeat(501)}), "/reason"),
            (json!({"reason": "x", "force": true}), "/force"),
            (json!("x"), ""),
        ] {
            let refused = problem(
                act(&server, &id, verb, &request).await,
                422,
                "invalid_payload",
            )
            .await;
            assert_eq!(pointers(&refused), [pointer]);
        }
        let nowhere = "00000000-0000-4000-8000-000000000000";
        problem(
            act(&server, nowhere, verb, &because()).await,
            404,
            "not_found",
        )
        .await;
        problem(
            act(&server, "x", verb, &because()).await,
            400,
            "invalid_parameter",
        )
        .await;
    }
    let id: SubmissionId = id.parse().expect("an id");
    let row = server
        .ledger
        .submission(id)
        .await
        .expect("a row")
        .expect("a row");
    assert_eq!(row.state.status.as_str(), "pending", "nothing was written");
}
