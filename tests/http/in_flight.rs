//! What callers and staff see of transactions that the network may have.

use reqwest::{Response, StatusCode};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use tender::domain::classify::Cause;
use tender::domain::ids::{AccountId, SubmissionId, TxHash};
use tender::domain::plan::AccountState;
use tender::domain::submission::{Event, Gap};
use tender::flow::keys::Scope;
use tender::ledger::{Applied, Change, ClaimOutcome, Envelope, Submission};

use crate::support::{Server, body, problem, server, text};

/// A server with a staff key, and a transaction whose envelope is recorded.
async fn submitted() -> (Server, SubmissionId) {
    let mut server = server().await;
    let id: SubmissionId = server.pushed("k").await.parse().expect("an id");
    let channel = AccountId([9; 32]);
    server
        .ledger
        .add_channels(&[(channel, 41)])
        .await
        .expect("a channel");
    let scopes = [Scope::OutboxWrite, Scope::TransactionsRead];
    server.token = server.key("acme", &scopes).await;
    send(&server, id, 1).await;
    (server, id)
}

async fn send(server: &Server, id: SubmissionId, hash: u8) {
    let ClaimOutcome::Claimed(claim) = server.ledger.claim(id).await.expect("a claim") else {
        panic!("not claimed");
    };
    let envelope = Envelope {
        pair: claim.pair,
        hash: TxHash([hash; 32]),
        inner_hash: None,
        xdr: "the-signed-bytes".to_owned(),
        fee: 100,
        operations: 1,
        max_time: 1_800_000_000,
    };
    let recorded = server
        .ledger
        .record(&claim, envelope, 7)
        .await
        .expect("recorded");
    assert!(matches!(recorded, Applied::Done(_)), "{recorded:?}");
}

async fn row(server: &Server, id: SubmissionId) -> Submission {
    server
        .ledger
        .submission(id)
        .await
        .expect("a row")
        .expect("a row")
}

async fn happens(server: &Server, id: SubmissionId, event: Event) {
    let change = Change {
        evidence: Some(json!({"ledger": 1234, "proof": "test"})),
        account: Some(AccountState::Present {
            sequence: 42,
            since_ledger: None,
        }),
        ..Change::new(&row(server, id).await, event, "test")
    };
    let applied = server.ledger.apply(change).await.expect("applied");
    assert!(matches!(applied, Applied::Done(_)), "{applied:?}");
}

async fn act(server: &Server, id: SubmissionId, verb: &str) -> Response {
    let path = format!("/admin/transactions/{id}/{verb}");
    let request = server.post(&path, &json!({"reason": "test"}));
    request.send().await.expect("an answer")
}

async fn read(server: &Server, id: SubmissionId) -> Value {
    body(
        server
            .get(&format!("/transactions/{id}"))
            .send()
            .await
            .expect("an answer"),
    )
    .await
}

#[tokio::test]
async fn what_the_network_may_have_is_neither_cancelled_nor_requeued() {
    let (server, id) = submitted().await;
    problem(act(&server, id, "cancel").await, 409, "not_cancellable").await;
    let refused = problem(act(&server, id, "requeue").await, 409, "outcome_unknown").await;
    assert_eq!(refused["retryable"], json!(true));
    happens(&server, id, Event::Acknowledged).await;
    problem(act(&server, id, "requeue").await, 409, "outcome_unknown").await;
    happens(&server, id, Event::ConsumerBeyondReach).await;
    problem(act(&server, id, "requeue").await, 409, "outcome_unknown").await;
    problem(act(&server, id, "cancel").await, 409, "not_cancellable").await;
    assert_eq!(text(&read(&server, id).await, "verdict"), "INDETERMINATE");
}

#[tokio::test]
async fn what_succeeded_never_runs_again() {
    for event in [Event::Succeeded, Event::EffectMissing] {
        let (server, id) = submitted().await;
        happens(&server, id, event).await;
        let refused = problem(act(&server, id, "requeue").await, 409, "already_effective").await;
        assert_eq!(refused["retryable"], json!(false));
    }
}

#[tokio::test]
async fn a_failure_without_effect_is_requeued_once() {
    let (server, id) = submitted().await;
    let cause = Cause {
        class: tender::domain::classify::Class::Terminal,
        code: "txFAILED/PAYMENT_NO_TRUST".to_owned(),
    };
    happens(&server, id, Event::LedgerFailed(cause)).await;
    assert_eq!(text(&read(&server, id).await, "category"), "terminal");
    let requeued = act(&server, id, "requeue").await;
    assert_eq!(requeued.status(), StatusCode::OK);
    let requeued = body(requeued).await;
    assert_eq!(
        (text(&requeued, "status"), &requeued["generation"]),
        ("pending".to_owned(), &json!(1))
    );
    problem(act(&server, id, "requeue").await, 409, "not_failed").await;
    let log = server.ledger.log(id).await.expect("a log");
    let entry = log
        .iter()
        .find(|entry| entry.event == "requeued")
        .expect("an entry");
    assert!(
        entry
            .detail
            .as_ref()
            .expect("details")
            .to_string()
            .contains("test")
    );
}

#[tokio::test]
async fn a_pending_transaction_whose_envelopes_are_dead_is_cancelled() {
    let (server, id) = submitted().await;
    happens(&server, id, Event::ProvenDead(Cause::expired(), Gap::None)).await;
    assert_eq!(act(&server, id, "cancel").await.status(), StatusCode::OK);
    let pool = server.ledger.pool().await.expect("a pool");
    assert_eq!(
        (pool.free, pool.leased),
        (1, 0),
        "its channel is free again"
    );
}

#[tokio::test]
async fn a_transaction_is_shown_with_attempts_verdict_and_evidence_but_not_its_bytes() {
    let (server, id) = submitted().await;
    happens(&server, id, Event::Succeeded).await;
    let shown = read(&server, id).await;
    assert_eq!(
        (text(&shown, "status"), text(&shown, "verdict")),
        ("confirmed".into(), "SUCCESS".into())
    );
    assert_eq!(
        (&shown["ledger"], &shown["evidence"]["proof"]),
        (&json!(1234), &json!("test"))
    );
    assert_eq!(text(&shown, "tx_hash"), "01".repeat(32));
    let attempts = shown["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 1);
    for (name, value) in [
        ("hash", json!("01".repeat(32))),
        ("source_account", json!(AccountId([9; 32]).to_string())),
        ("sequence", json!("42")),
        ("fee", json!("100")),
        ("max_time", json!("2027-01-15T08:00:00Z")),
        ("sent_after_ledger", json!(7)),
        ("settled", json!(true)),
    ] {
        assert_eq!(attempts[0][name], value, "{name}");
    }
    assert!(
        !shown.to_string().contains("the-signed-bytes"),
        "whoever has them can send them"
    );
    let public = server
        .client
        .get(format!("{}/transactions/{id}/status", server.url))
        .send()
        .await;
    let public = body(public.expect("an answer")).await;
    assert_eq!(
        (text(&public, "status"), &public["ledger"]),
        ("confirmed".to_owned(), &json!(1234))
    );
}

#[tokio::test]
async fn without_its_ledger_the_service_says_when_to_come_back_and_not_why() {
    let (server, id) = submitted().await;
    // Believed for seconds, so that the next requests get past it.
    read(&server, id).await;
    lose_the_table(&server.database).await;
    let url = format!("{}/transactions/{id}/status", server.url);
    for request in [server.get("/transactions"), server.client.get(url)] {
        let refused = problem(
            request.send().await.expect("an answer"),
            503,
            "ledger_unavailable",
        )
        .await;
        let shown = refused.to_string().to_lowercase();
        assert!(
            !shown.contains("table") && !shown.contains("sql"),
            "{shown}"
        );
        assert_eq!(refused["retryable"], json!(true));
    }
    let live = server
        .client
        .get(format!("{}/livez", server.url))
        .send()
        .await;
    assert_eq!(live.expect("an answer").status(), StatusCode::OK);
}

/// What no verb of the ledger does.
async fn lose_the_table(url: &str) {
    let database = sea_orm::Database::connect(url).await.expect("the database");
    let lost = database
        .execute_unprepared("ALTER TABLE submission_ledger RENAME TO lost")
        .await;
    lost.expect("no table");
}
