//! Front ends at different heights of one chain.

use crate::common::{Key, LUMEN, config, create, operation, pay, root, signed, transaction};
use crate::support::{Served, base64, payment};
use serde_json::{Value, json};
use std::collections::HashMap;
use stellar_xdr::{LedgerEntry, LedgerKey, OperationBody, TransactionEnvelope};
use tender_devnet::faults::{Fault, FaultPlan, Loss, Rule, When};
use tender_devnet::network::Network;
use tender_devnet::node::{DevNode, Pace};
use tender_devnet::rpc::FrontEnd;

/// Source, sequence number and operations.
type Sent = (Key, i64, Vec<stellar_xdr::Operation>);

async fn height(served: &Served) -> u64 {
    let latest = served.call("getLatestLedger", json!({})).await;
    latest["sequence"].as_u64().unwrap()
}

/// Everything a front end says about root's last payment.
async fn says(served: &Served, hash: &str) -> Value {
    let keys = json!({"keys": [base64(&root().entry_key())]});
    let health = served.call("getHealth", json!({})).await;
    let transactions = served
        .call("getTransactions", json!({"startLedger": 10}))
        .await;
    let events = served.call("getEvents", json!({"startLedger": 10})).await;
    json!({
        "health": health,
        "latest": served.call("getLatestLedger", json!({})).await,
        "entries": served.call("getLedgerEntries", keys).await,
        "transaction": served.look_up(hash).await,
        "transactions": transactions,
        "events": events,
        "ledgers": served.call("getLedgers", json!({"startLedger": 10})).await,
        "fees": served.call("getFeeStats", json!({})).await,
    })
}

#[tokio::test]
async fn everything_is_answered_as_of_some_ledgers_ago() {
    let served = Served::by_hand().await;
    served.send_ok(&payment(1, &Key::named("nobody"), 1)).await;
    served.node.close_ledger();
    let hash = served.send_ok(&payment(2, &root(), 1)).await;
    let then = says(&served, &hash).await;
    for sequence in 2..5 {
        if sequence > 2 {
            served.send_ok(&payment(sequence, &root(), 1)).await;
        }
        served.node.close_ledger();
    }
    let now = says(&served, &hash).await;
    assert_ne!(now, then);
    assert_eq!(now["transaction"]["status"], "SUCCESS");
    served.rules(vec![Rule::call(
        Fault::Lag { ledgers: 3 },
        &[],
        When::Always,
    )]);
    assert_eq!(says(&served, &hash).await, then);
}

#[tokio::test]
async fn replicas_behind_one_address_take_turns() {
    let node = DevNode::start(config(), Pace::ByHand);
    let served = Served::front(FrontEnd::new(node).with_lags(&[0, 5, 2])).await;
    for _ in 0..8 {
        served.node.close_ledger();
    }
    for _ in 0..2 {
        assert_eq!(height(&served).await, 18);
        assert_eq!(height(&served).await, 13);
        assert_eq!(height(&served).await, 16);
    }
}

#[tokio::test]
async fn replicas_have_addresses_of_their_own() {
    let node = DevNode::start(config(), Pace::ByHand);
    let head = Served::front(FrontEnd::new(node.clone())).await;
    let behind = Served::front(FrontEnd::new(node).with_lags(&[5])).await;
    for _ in 0..3 {
        head.node.close_ledger();
    }
    // Nobody is behind the beginning.
    assert_eq!((height(&head).await, height(&behind).await), (13, 10));
    for _ in 0..3 {
        head.node.close_ledger();
    }
    assert_eq!((height(&head).await, height(&behind).await), (16, 11));
}

#[tokio::test]
async fn a_replica_judges_envelopes_by_what_it_knows() {
    let node = DevNode::start(config(), Pace::ByHand);
    let head = Served::front(FrontEnd::new(node.clone())).await;
    let behind = Served::front(FrontEnd::new(node).with_lags(&[2])).await;
    let applied = payment(1, &root(), 1);
    let hash = head.send_ok(&applied).await;
    head.node.close_ledger();
    // It does not know the ledger yet: what was applied may still be, and what follows is too early.
    assert_eq!(behind.send(&applied).await["status"], "PENDING");
    assert_eq!(behind.send(&applied).await["latestLedger"], 10);
    assert_eq!(
        behind.send(&payment(2, &root(), 1)).await["status"],
        "ERROR"
    );
    assert_eq!(head.node.inspect(Network::pending), 0);
    head.node.close_ledger();
    head.node.close_ledger();
    assert_eq!(behind.look_up(&hash).await["status"], "SUCCESS");
    assert_eq!(
        behind.send(&payment(2, &root(), 1)).await["status"],
        "PENDING"
    );
    assert_eq!(
        head.send(&payment(2, &root(), 1)).await["status"],
        "DUPLICATE"
    );
    let included = |network: &Network| -> usize {
        network
            .ledgers()
            .map(|ledger| ledger.transactions.len())
            .sum()
    };
    assert_eq!(head.node.inspect(included), 1);
}

#[tokio::test]
async fn a_node_forgets_sooner_than_an_outage_is_over() {
    let served = Served::by_hand().await;
    let hash = served.send_ok(&payment(1, &root(), 1)).await;
    for _ in 0..4 {
        served.node.close_ledger();
    }
    assert_eq!(served.look_up(&hash).await["status"], "SUCCESS");
    let fault = Fault::ShortHistory { ledgers: 3 };
    served.rules(vec![Rule::call(fault, &[], When::Always)]);
    let answer = served.look_up(&hash).await;
    assert_eq!(answer["status"], "NOT_FOUND");
    assert_eq!(
        (&answer["oldestLedger"], &answer["latestLedger"]),
        (&12.into(), &14.into())
    );
    for method in ["getTransactions", "getEvents", "getLedgers"] {
        let (code, _) = served.error(method, json!({"startLedger": 11})).await;
        assert_eq!(code, -32_600, "{method}");
        served.call(method, json!({"startLedger": 12})).await;
    }
    assert_eq!(
        served.call("getHealth", json!({})).await["oldestLedger"],
        12
    );
}

#[tokio::test]
async fn entries_of_old_ledgers_are_what_they_were() {
    let node = DevNode::start(config(), Pace::ByHand);
    let (alice, bob) = (Key::named("alice"), Key::named("bob"));
    let merge = || operation(OperationBody::AccountMerge(root().muxed()));
    let from = |ledger: i64, n: i64| (ledger << 32) + n;
    let steps: Vec<Vec<Sent>> = vec![
        vec![(
            root(),
            1,
            vec![create(&alice, 10 * LUMEN), create(&bob, 10 * LUMEN)],
        )],
        vec![
            (alice.clone(), from(11, 1), vec![pay(&bob, 3), pay(&bob, 4)]),
            (bob.clone(), from(11, 1), vec![pay(&alice, i64::MAX)]),
        ],
        vec![(alice.clone(), from(11, 2), vec![merge()])],
        Vec::new(),
        vec![(root(), 2, vec![create(&alice, 20 * LUMEN)])],
        vec![(bob.clone(), from(11, 2), vec![merge()])],
    ];
    let snapshot = |network: &Network| -> HashMap<LedgerKey, LedgerEntry> {
        let entries = network.entries().cloned();
        entries.map(|entry| (entry.to_key(), entry)).collect()
    };
    let mut snapshots = vec![(10, node.inspect(snapshot))];
    for step in steps {
        for (source, sequence, operations) in step {
            let fee = 100 * u32::try_from(operations.len()).unwrap();
            let tx = transaction(&source, sequence, fee, operations);
            let envelope = TransactionEnvelope::Tx(signed(&tx, &[&source]));
            let params = json!({"transaction": base64(&envelope)});
            let answer = node.call("sendTransaction", params).unwrap();
            assert_eq!(answer["status"], "PENDING", "{answer}");
        }
        let sequence = node.close_ledger().sequence;
        snapshots.push((sequence, node.inspect(snapshot)));
    }
    for (ledger, entries) in &snapshots {
        for key in [&root(), &alice, &bob].map(Key::entry_key) {
            let was = node.inspect(|network| network.entry_as_of(&key, *ledger));
            assert_eq!(was.as_ref(), entries.get(&key), "ledger {ledger}");
        }
    }
    let distinct: std::collections::HashSet<_> =
        snapshots.iter().map(|(_, entries)| entries.len()).collect();
    assert!(distinct.len() > 1, "accounts came and went");
}

#[tokio::test]
async fn front_ends_have_faults_of_their_own() {
    let node = DevNode::start(config(), Pace::ByHand);
    let lost = Fault::AnswerLostBeforeAccept(Loss::ServiceUnavailable);
    let plan = FaultPlan::ruled(1, vec![Rule::call(lost, &[], When::Always)]).unwrap();
    let front = FrontEnd::new(node.clone()).with_faults(plan);
    let broken = Served::front(front.clone()).await;
    let sound = Served::front(FrontEnd::new(node)).await;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "getHealth"});
    assert_eq!(broken.post(request.to_string()).await.status(), 503);
    sound.call("getHealth", json!({})).await;
    assert_eq!(front.faults().unwrap().before_accept, 1);
    assert_eq!(sound.node.faults().before_accept, 0);
}
