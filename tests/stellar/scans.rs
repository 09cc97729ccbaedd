//! Scans of more than fits one page, one pass, one answer or one node.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tender::stellar::rpc::{Consumer, Method};

use crate::nodes::{at, network_or};
use crate::reads::{LATEST, envelope, item, ledgers, not_seen, page, pair};
use crate::support::{NEVER, Reply, Server, client};

/// A page larger than what is read of an answer.
const TOO_LARGE: usize = 11 << 20;

async fn many(ledger: u32, count: usize) -> Vec<(u32, Value)> {
    let (other, _) = envelope(1).await;
    (0..count)
        .map(|_| item(ledger, "SUCCESS", &other, None))
        .collect()
}

#[tokio::test]
async fn a_long_scan_ends_and_goes_on_where_it_ended() {
    let (ours, _) = envelope(7).await;
    let mut items = many(12, 6_000).await;
    items.extend(many(13, 6_000).await);
    items.push(item(14, "SUCCESS", &ours, None));
    let server = ledgers(items).await;
    let first = server.client().consumer(pair(7), 11, 20).await;
    assert_eq!(first, not_seen(12, true), "10,000 transactions at most");
    let second = server.client().consumer(pair(7), 13, 20).await.unwrap();
    assert!(matches!(second, Consumer::Found(_)), "{second:?}");
}

#[tokio::test]
async fn a_ledger_larger_than_a_pass_does_not_hold_the_scan_up() {
    let server = ledgers(many(12, 12_000).await).await;
    let scanned = server.client().consumer(pair(7), 12, 20).await;
    assert_eq!(scanned, not_seen(LATEST, true));
}

/// The limit on an answer is ours: the node is not blamed for it.
#[tokio::test]
async fn a_page_that_is_too_large_is_asked_for_in_smaller_pieces() {
    let (ours, _) = envelope(7).await;
    let mut items = many(12, 40).await;
    items.push(item(13, "SUCCESS", &ours, None));
    for oversized in [Reply::Cut(TOO_LARGE), Reply::Chunks(TOO_LARGE)] {
        let items = items.clone();
        let server = Server::start(move |_, params| {
            if params["pagination"]["limit"].as_u64().unwrap() > 13 {
                oversized.clone()
            } else {
                page(&items, params)
            }
        })
        .await;
        let found = server.client().consumer(pair(7), 11, 20).await.unwrap();
        assert!(matches!(found, Consumer::Found(_)), "{found:?}");
        let all = server.client().transactions_from(11).await.unwrap();
        assert_eq!(all.len(), 41);
    }
    let endless = Server::always(Reply::Cut(TOO_LARGE)).await;
    let rpc = endless.client();
    assert!(rpc.consumer(pair(7), 11, 20).await.is_err());
    assert!(
        rpc.calls().contains(&(Method::GetTransactions, 7)),
        "100 to 1"
    );
}

#[tokio::test]
async fn what_was_read_before_a_fault_stays_read() {
    let items = many(12, 150).await;
    let items = [items, many(13, 150).await].concat();
    let server = Server::start(
        move |_, params| match params["pagination"]["cursor"].as_str() {
            Some("200") => Reply::Status(503),
            _ => page(&items, params),
        },
    )
    .await;
    let scanned = server.client().consumer(pair(7), 11, 20).await;
    assert_eq!(scanned, not_seen(12, true));
}

/// Pages of two nodes would leave a gap where one has not what the other has read past.
#[tokio::test]
async fn the_pages_of_a_scan_come_from_one_node() {
    let pages = Arc::new(AtomicUsize::new(0));
    let elsewhere = Arc::new(AtomicUsize::new(0));
    let items = many(12, 250).await;
    let (served, served_elsewhere) = (Arc::clone(&pages), Arc::clone(&elsewhere));
    let same = items.clone();
    let first = Server::start(network_or(move |method, params| match method {
        "getTransactions" if served.fetch_add(1, Ordering::Relaxed) == 0 => page(&items, params),
        "getTransactions" => Reply::Status(503),
        _ => at(LATEST),
    }))
    .await;
    let second = Server::start(network_or(move |method, params| {
        if method == "getTransactions" {
            served_elsewhere.fetch_add(1, Ordering::Relaxed);
            page(&same, params)
        } else {
            at(LATEST)
        }
    }))
    .await;
    let rpc = client(&[first.url(), second.url()], NEVER, NEVER);
    let scanned = rpc.consumer(pair(7), 11, 20).await;
    assert_eq!(scanned, not_seen(11, true));
    assert_eq!(pages.load(Ordering::Relaxed), 2);
    assert_eq!(elsewhere.load(Ordering::Relaxed), 0);
}
