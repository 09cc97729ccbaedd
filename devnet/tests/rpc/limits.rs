//! Defaults, windows and what a node does when something is not as usual.

use crate::common::{Key, bumped, config, operation, pay, root, signed, transaction};
use crate::support::{Served, base64};
use serde_json::{Value, json};
use std::time::Duration;
use stellar_xdr::{ManageDataOp, OperationBody, String64, TransactionEnvelope};
use tender_devnet::network::Network;
use tender_devnet::rpc::{Method, Surroundings, call};

#[test]
fn a_node_that_fell_behind_answers_with_an_error() {
    let mut network = Network::new(config());
    let mut health = |seconds| {
        let surroundings = Surroundings {
            since_close: Duration::from_secs(seconds),
            ..Surroundings::default()
        };
        call(&mut network, &surroundings, Method::GetHealth, Value::Null)
    };
    assert_eq!(health(30).unwrap()["status"], "healthy");
    let error = health(31).unwrap_err();
    assert_eq!(error.code, -32_603);
    assert!(error.message.contains("too high"), "{}", error.message);
}

#[tokio::test]
async fn an_operation_the_node_does_not_take_is_an_internal_error() {
    let served = Served::by_hand().await;
    let body = OperationBody::ManageData(ManageDataOp {
        data_name: String64("name".try_into().unwrap()),
        data_value: None,
    });
    let tx = transaction(&root(), 1, 100, vec![operation(body)]);
    let envelope = TransactionEnvelope::Tx(signed(&tx, &[&root()]));
    let params = json!({"transaction": base64(&envelope)});
    let (code, message) = served.error("sendTransaction", params).await;
    assert_eq!(code, -32_603);
    assert_eq!(message, "invalid status from stellar-core");
}

#[tokio::test]
async fn pages_have_default_lengths_and_scans_an_end() {
    let served = Served::by_hand().await;
    for _ in 0..10_005 {
        served.node.close_ledger();
    }
    let ledgers = served.call("getLedgers", json!({"startLedger": 10})).await;
    assert_eq!(ledgers["ledgers"].as_array().unwrap().len(), 50);
    let most = json!({"startLedger": 10, "pagination": {"limit": 200}});
    let ledgers = served.call("getLedgers", most).await;
    assert_eq!(ledgers["ledgers"].as_array().unwrap().len(), 200);
    let events = served.call("getEvents", json!({"startLedger": 10})).await;
    let id: i64 = events["cursor"].as_str().unwrap()[..19].parse().unwrap();
    assert_eq!(id >> 32, 10_009, "10,000 ledgers were looked through");
}

#[tokio::test]
async fn fee_statistics_look_back_ten_ledgers_and_divide_by_inner_operations() {
    let served = Served::by_hand().await;
    let tx = transaction(&root(), 1, 100, vec![pay(&root(), 1)]);
    let inner = signed(&tx, &[&root()]);
    let envelope = bumped(&inner, &Key(root().0), 1000);
    served.send_ok(&envelope).await;
    for _ in 0..10 {
        served.node.close_ledger();
        let stats = served.call("getFeeStats", json!({})).await;
        assert_eq!(stats["inclusionFee"]["max"], "200");
        assert_eq!(stats["inclusionFee"]["transactionCount"], "1");
    }
    served.node.close_ledger();
    let stats = served.call("getFeeStats", json!({})).await;
    assert_eq!(stats["inclusionFee"]["max"], "0");
    assert_eq!(stats["latestLedger"], 21);
}
