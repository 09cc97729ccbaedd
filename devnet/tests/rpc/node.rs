//! The node itself: its timer, its clock, its counters and its end.

use crate::common::{START, config, root};
use crate::support::{Served, base64, payment};
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tender_devnet::config::NetworkConfig;
use tender_devnet::network::Network;
use tender_devnet::node::{DevNode, Pace};

fn unix_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

#[tokio::test]
async fn fast_ledgers_are_a_second_apart_and_everybody_hears_of_them() {
    let node = DevNode::start(config(), Pace::Every(Duration::from_millis(5)));
    let mut latest = node.latest();
    let mut seen = *latest.borrow_and_update();
    while seen.sequence < 20 {
        latest.changed().await.unwrap();
        let next = *latest.borrow_and_update();
        assert!(next.sequence > seen.sequence);
        seen = next;
        assert_eq!(seen.close_time, START + u64::from(seen.sequence - 10));
    }
    node.shutdown().await;
    let last = *latest.borrow_and_update();
    assert_eq!(node.inspect(Network::latest_ledger), last.sequence);
    assert!(!latest.has_changed().unwrap());
}

#[tokio::test]
async fn slow_ledgers_follow_the_wall_clock() {
    let node = DevNode::start(config(), Pace::Every(Duration::from_hours(1)));
    let before = unix_now();
    let closed = node.close_ledger();
    assert!((before..=unix_now()).contains(&closed.close_time));
    let next = node.close_ledger();
    assert!(next.close_time > closed.close_time);
    node.shutdown().await;
}

#[tokio::test]
async fn the_timer_ends_with_the_last_handle() {
    let node = DevNode::start(config(), Pace::Every(Duration::from_millis(5)));
    let mut latest = node.latest();
    drop(node);
    let ended = tokio::time::timeout(Duration::from_secs(10), async {
        while latest.changed().await.is_ok() {}
    });
    ended.await.expect("the node is gone");
}

#[tokio::test]
async fn an_envelope_is_refused_ever_earlier_while_no_ledger_closes() {
    // The start ledger closed long ago by the wall clock, so the drift is large.
    let config = NetworkConfig {
        start_close_time: unix_now() - 1000,
        ..config()
    };
    let drifting = DevNode::start(config.clone(), Pace::Every(Duration::from_hours(1)));
    let by_hand = DevNode::start(config, Pace::ByHand);
    let max_time = unix_now() - 900;
    let send = |node: &DevNode| {
        let mut tx =
            crate::common::transaction(&root(), 1, 100, vec![crate::common::pay(&root(), 1)]);
        tx.cond = stellar_xdr::Preconditions::Time(stellar_xdr::TimeBounds {
            min_time: stellar_xdr::TimePoint(0),
            max_time: stellar_xdr::TimePoint(max_time),
        });
        let envelope = crate::common::signed(&tx, &[&root()]);
        let envelope = stellar_xdr::TransactionEnvelope::Tx(envelope);
        let params = json!({"transaction": base64(&envelope)});
        node.call("sendTransaction", params).unwrap()["status"].clone()
    };
    assert_eq!(send(&drifting), "ERROR");
    assert_eq!(send(&by_hand), "PENDING");
}

#[tokio::test]
async fn calls_are_counted_by_method_in_process_and_over_http() {
    let served = Served::by_hand().await;
    assert!(served.node.calls().is_empty());
    served.send_ok(&payment(1, &root(), 1)).await;
    served.call("getHealth", json!({})).await;
    served.node.call("getHealth", json!({})).unwrap();
    assert!(served.node.call("getHealth", json!([])).is_err());
    assert!(served.node.call("nope", json!({})).is_err());
    served.error("nope", json!({})).await;
    let calls = served.node.calls();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls["sendTransaction"], 1);
    assert_eq!(calls["getHealth"], 3);
}

#[tokio::test]
async fn a_server_stops_and_the_node_can_still_be_asked() {
    let served = Served::by_hand().await;
    served.send_ok(&payment(1, &root(), 1)).await;
    let node = served.node.clone();
    served.stop().await;
    node.close_ledger();
    let latest = node.call("getLatestLedger", json!({})).unwrap();
    assert_eq!(latest["sequence"], 11);
    assert_eq!(node.inspect(Network::pending), 0);
}
