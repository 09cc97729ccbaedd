//! An index that has a ledger's transactions later than the node has the ledger.

use crate::common::{root, signed, transaction};
use crate::support::{Served, bumped_payment, payment};
use serde_json::{Value, json};
use stellar_xdr::{Hash, TransactionEnvelope};
use tender_devnet::faults::{CallRule, Fault, Hashes, Rule, When};

fn lagging(ledgers: u32, hashes: Hashes) -> Vec<Rule> {
    vec![Rule::Call(CallRule {
        methods: Vec::new(),
        hashes,
        when: When::Always,
        fault: Fault::IndexLag { ledgers },
    })]
}

fn hash_of(text: &str) -> Hash {
    Hash(hex::decode(text).unwrap().try_into().unwrap())
}

async fn transactions(served: &Served, params: Value) -> Vec<Value> {
    let page = served.call("getTransactions", params).await;
    let hash = |tx: &Value| tx["txHash"].clone();
    page["transactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(hash)
        .collect()
}

#[tokio::test]
async fn a_transaction_is_found_some_ledgers_after_its_own() {
    let served = Served::by_hand().await;
    served.rules(lagging(2, Hashes::Any));
    let hash = served.send_ok(&payment(1, &root(), 1)).await;
    let start = json!({"startLedger": 10});
    for latest in [11, 12] {
        served.node.close_ledger();
        let answer = served.look_up(&hash).await;
        assert_eq!(answer["status"], "NOT_FOUND");
        assert_eq!(answer["latestLedger"], latest);
        assert!(transactions(&served, start.clone()).await.is_empty());
        let events = served.call("getEvents", start.clone()).await;
        assert_eq!(events["events"], json!([]));
        assert_eq!(events["latestLedger"], latest);
        // The entries are those of the latest ledger: only the index is behind.
        let latest_ledger = served.call("getLatestLedger", json!({})).await;
        assert_eq!(latest_ledger["sequence"], latest);
    }
    served.node.close_ledger();
    assert_eq!(served.look_up(&hash).await["status"], "SUCCESS");
    assert_eq!(transactions(&served, start.clone()).await, [json!(hash)]);
    let events = served.call("getEvents", start).await;
    assert!(!events["events"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn whoever_follows_cursors_sees_everything_exactly_once() {
    let served = Served::by_hand().await;
    served.rules(lagging(3, Hashes::Share(500)));
    let (mut sent, mut listed, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let mut params = [json!({"startLedger": 10}), json!({"startLedger": 10})];
    for sequence in 1..=20 {
        if sequence <= 14 {
            sent.push(served.send_ok(&payment(sequence, &root(), 1)).await);
        }
        served.node.close_ledger();
        let page = served.call("getTransactions", params[0].clone()).await;
        for tx in page["transactions"].as_array().unwrap() {
            listed.push(tx["txHash"].as_str().unwrap().to_owned());
        }
        params[0] = json!({"pagination": {"cursor": page["cursor"]}});
        let page = served.call("getEvents", params[1].clone()).await;
        for event in page["events"].as_array().unwrap() {
            told.push(event["id"].as_str().unwrap().to_owned());
        }
        params[1] = json!({"pagination": {"cursor": page["cursor"]}});
    }
    assert_eq!(listed, sent);
    served.rules(Vec::new());
    let all = served.call("getEvents", json!({"startLedger": 10})).await;
    let all = all["events"].as_array().unwrap();
    let all: Vec<_> = all
        .iter()
        .map(|e| e["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(told, all);
}

#[tokio::test]
async fn one_transaction_is_late_by_either_of_its_hashes() {
    let served = Served::by_hand().await;
    let inner = transaction(&root(), 1, 100, vec![crate::common::pay(&root(), 1)]);
    let inner = hex::encode(crate::common::tx_hash(&inner).0);
    let outer = served.send_ok(&bumped_payment(1, &root(), 1)).await;
    for listed in [&inner, &outer] {
        served.rules(lagging(2, Hashes::Listed(vec![hash_of(listed)])));
        if served.node.latest().borrow().sequence == 10 {
            served.node.close_ledger();
        }
        for asked in [&inner, &outer] {
            assert_eq!(served.look_up(asked).await["status"], "NOT_FOUND");
        }
    }
    let tx = transaction(&root(), 2, 100, vec![crate::common::pay(&root(), 1)]);
    let envelope = TransactionEnvelope::Tx(signed(&tx, &[&root()]));
    let other = served.send_ok(&envelope).await;
    served.node.close_ledger();
    assert_eq!(served.look_up(&other).await["status"], "SUCCESS");
    assert_eq!(served.look_up(&outer).await["status"], "NOT_FOUND");
}
