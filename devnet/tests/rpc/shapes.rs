//! Names and types of every field, as the real node gives them.

use crate::common::{Key, config, root};
use crate::support::{Served, base64, payment, shape};
use serde_json::{Value, json};

#[tokio::test]
async fn send_transaction() {
    let served = Served::by_hand().await;
    let answer = served.send(&payment(1, &root(), 1)).await;
    let expected = json!({
        "status": "string",
        "hash": "string",
        "latestLedger": "number",
        "latestLedgerCloseTime": "string",
    });
    assert_eq!(shape(&answer), expected);
    assert_eq!(answer["status"], "PENDING");
    assert_eq!(answer["latestLedger"], 10);
    assert_eq!(answer["latestLedgerCloseTime"], "1000000");
    let again = served.send(&payment(1, &root(), 1)).await;
    assert_eq!(shape(&again), expected);
    assert_eq!(again["status"], "DUPLICATE");
    let other = served.send(&payment(1, &root(), 2)).await;
    assert_eq!(shape(&other), expected);
    assert_eq!(other["status"], "TRY_AGAIN_LATER");
    served.node.close_ledger();
    let refused = served.send(&payment(9, &root(), 1)).await;
    let mut expected = expected;
    expected["errorResultXdr"] = "string".into();
    assert_eq!(shape(&refused), expected);
    assert_eq!(refused["status"], "ERROR");
}

fn transaction_shape(created_at: &str) -> Value {
    json!({
        "status": "string",
        "txHash": "string",
        "applicationOrder": "number",
        "feeBump": "bool",
        "envelopeXdr": "string",
        "resultXdr": "string",
        "resultMetaXdr": "string",
        "events": {"transactionEventsXdr": ["string"], "contractEventsXdr": [["string"]]},
        "ledger": "number",
        "createdAt": created_at,
    })
}

#[tokio::test]
async fn get_transaction_and_get_transactions() {
    let served = Served::by_hand().await;
    let hash = served.create(1, &[&Key::named("payee")]).await;
    let one = served.call("getTransaction", json!({"hash": hash})).await;
    let mut expected = transaction_shape("string");
    for (name, kind) in [
        ("latestLedger", "number"),
        ("latestLedgerCloseTime", "string"),
        ("oldestLedger", "number"),
        ("oldestLedgerCloseTime", "string"),
    ] {
        expected[name] = kind.into();
    }
    assert_eq!(shape(&one), expected);
    let missing = json!({"hash": "ab".repeat(32)});
    let missing = served.call("getTransaction", missing).await;
    for field in ["envelopeXdr", "resultXdr", "resultMetaXdr"] {
        expected.as_object_mut().unwrap().remove(field);
    }
    expected["events"] = json!({});
    assert_eq!(shape(&missing), expected);
    let many = served
        .call("getTransactions", json!({"startLedger": 10}))
        .await;
    let expected = json!({
        "transactions": [transaction_shape("number")],
        "latestLedger": "number",
        "latestLedgerCloseTimestamp": "number",
        "oldestLedger": "number",
        "oldestLedgerCloseTimestamp": "number",
        "cursor": "string",
    });
    assert_eq!(shape(&many), expected);
}

#[tokio::test]
async fn get_ledgers_and_get_latest_ledger() {
    let served = Served::by_hand().await;
    let ledgers = served.call("getLedgers", json!({"startLedger": 10})).await;
    let expected = json!({
        "ledgers": [{
            "hash": "string",
            "sequence": "number",
            "ledgerCloseTime": "string",
            "headerXdr": "string",
            "metadataXdr": "string",
        }],
        "latestLedger": "number",
        "latestLedgerCloseTime": "number",
        "oldestLedger": "number",
        "oldestLedgerCloseTime": "number",
        "cursor": "string",
    });
    assert_eq!(shape(&ledgers), expected);
    let latest = served.call("getLatestLedger", Value::Null).await;
    let expected = json!({
        "id": "string",
        "protocolVersion": "number",
        "sequence": "number",
        "closeTime": "string",
        "headerXdr": "string",
        "metadataXdr": "string",
    });
    assert_eq!(shape(&latest), expected);
}

#[tokio::test]
async fn get_ledger_entries() {
    let served = Served::by_hand().await;
    let keys = json!({"keys": [base64(&root().entry_key())]});
    let entries = served.call("getLedgerEntries", keys).await;
    let expected = json!({
        "entries": [{
            "key": "string",
            "xdr": "string",
            "lastModifiedLedgerSeq": "number",
            "extXdr": "string",
        }],
        "latestLedger": "number",
    });
    assert_eq!(shape(&entries), expected);
}

#[tokio::test]
async fn get_events() {
    let served = Served::by_hand().await;
    served.create(1, &[&Key::named("payee")]).await;
    let events = served.call("getEvents", json!({"startLedger": 10})).await;
    let expected = json!({
        "events": [{
            "type": "string",
            "ledger": "number",
            "ledgerClosedAt": "string",
            "contractId": "string",
            "id": "string",
            "operationIndex": "number",
            "transactionIndex": "number",
            "txHash": "string",
            "inSuccessfulContractCall": "bool",
            "topic": ["string"],
            "value": "string",
        }],
        "cursor": "string",
        "latestLedger": "number",
        "oldestLedger": "number",
        "latestLedgerCloseTime": "string",
        "oldestLedgerCloseTime": "string",
    });
    assert_eq!(shape(&events), expected);
}

#[tokio::test]
async fn get_fee_stats() {
    let served = Served::by_hand().await;
    let empty = served.call("getFeeStats", json!({})).await;
    let mut distribution = json!({"ledgerCount": "number"});
    for field in [
        "max",
        "min",
        "mode",
        "p10",
        "p20",
        "p30",
        "p40",
        "p50",
        "p60",
        "p70",
        "p80",
        "p90",
        "p95",
        "p99",
        "transactionCount",
    ] {
        distribution[field] = "string".into();
        assert_eq!(empty["inclusionFee"][field], "0");
    }
    let expected = json!({
        "sorobanInclusionFee": distribution,
        "inclusionFee": distribution,
        "latestLedger": "number",
    });
    assert_eq!(shape(&empty), expected);
    served
        .create(1, &[&Key::named("one"), &Key::named("two")])
        .await;
    let stats = served.call("getFeeStats", json!({})).await;
    assert_eq!(shape(&stats), expected);
    assert_eq!(stats["inclusionFee"]["max"], "100");
    assert_eq!(stats["inclusionFee"]["p50"], "100");
    assert_eq!(stats["inclusionFee"]["transactionCount"], "1");
    assert_eq!(stats["inclusionFee"]["ledgerCount"], 2);
    assert_eq!(stats["sorobanInclusionFee"]["max"], "0");
}

#[tokio::test]
async fn get_health_get_network_and_get_version_info() {
    let served = Served::by_hand().await;
    served.node.close_ledger();
    let health = served.call("getHealth", json!({})).await;
    let expected = json!({
        "status": "healthy",
        "latestLedger": 11,
        "latestLedgerCloseTime": "1000001",
        "oldestLedger": 10,
        "oldestLedgerCloseTime": "1000000",
        "ledgerRetentionWindow": 120_960,
    });
    assert_eq!(health, expected);
    let network = served.call("getNetwork", json!({})).await;
    let expected = json!({
        "passphrase": config().passphrase,
        "protocolVersion": config().protocol,
        "friendbotUrl": format!("{}/friendbot", served.url),
    });
    assert_eq!(network, expected);
    let version = served.call("getVersionInfo", json!({})).await;
    let expected = json!({
        "version": "string",
        "commitHash": "string",
        "buildTimestamp": "string",
        "captiveCoreVersion": "string",
        "protocolVersion": "number",
    });
    assert_eq!(shape(&version), expected);
}
