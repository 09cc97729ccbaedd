//! Rust callers write intents through a transaction of their own.

use sea_orm::{ConnectionTrait, TransactionTrait};
use serde_json::json;
use tender::outbox::{EnqueueError, enqueue};

use crate::bed::Bed;
use crate::table::{Caller, accepted, payment, relay};

async fn an_intent_commits_and_rolls_back_with_what_caused_it(bed: Bed) {
    bed.sql("CREATE TABLE invoice (number INTEGER)").await;
    let caller = Caller::of(&bed).await;
    for (number, pays) in [(1, true), (2, false), (3, true)] {
        let tx = caller.0.begin().await.unwrap();
        let sql = format!("INSERT INTO invoice VALUES ({number})");
        tx.execute_unprepared(&sql).await.unwrap();
        let key = format!("invoice-{number}");
        enqueue(&tx, "acme", key.as_str(), &payment(number))
            .await
            .unwrap();
        if pays {
            tx.commit().await.unwrap();
        } else {
            tx.rollback().await.unwrap();
        }
    }
    let (mut relay, _told) = relay(&bed.ledger);
    assert_eq!(relay.run_once().await.unwrap().accepted, 2);
    assert_eq!(caller.outcomes().await, [accepted(), accepted()]);
    assert_eq!(bed.number("SELECT count(*) FROM invoice").await, 2);
}

async fn a_bad_intent_is_told_before_the_commit_and_spoils_nothing(bed: Bed) {
    let caller = Caller::of(&bed).await;
    let tx = caller.0.begin().await.unwrap();
    let (good, parts) = (payment(1), json!({"key_parts": {}}));
    let table = [
        ("invalid_tenant", "", Some("key"), &good),
        ("invalid_idempotency_key", "acme", Some("k k"), &good),
        ("missing_idempotency_key", "acme", None, &good),
        ("invalid_payload", "acme", None, &parts),
    ];
    for (expected, tenant, key, payload) in table {
        match enqueue(&tx, tenant, key, payload).await {
            Err(EnqueueError::Refused { code, .. }) => assert_eq!(code, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let id = enqueue(&tx, "acme", "key", &good).await.unwrap();
    tx.commit().await.unwrap();
    let written = bed.number("SELECT id FROM outbox").await;
    assert_eq!(id.0, written);
}

async fn a_connection_without_a_transaction_will_do(bed: Bed) {
    let caller = Caller::of(&bed).await;
    let mut request = payment(1);
    request["key_parts"] = json!({"logical_operation": "rent", "business_id": "7", "period": "1"});
    enqueue(&caller.0, "acme", None, &request).await.unwrap();
    let (mut relay, _told) = relay(&bed.ledger);
    assert_eq!(relay.run_once().await.unwrap().accepted, 1);
}

on_both!(
    an_intent_commits_and_rolls_back_with_what_caused_it,
    a_bad_intent_is_told_before_the_commit_and_spoils_nothing,
    a_connection_without_a_transaction_will_do,
);
