//! Every node has to serve the network that signatures are made for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tender::app::{StartError, confirm_network};
use tender::domain::classify::{Fault, SendAnswer};
use tender::domain::ids::TxHash;
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::Rpc;
use tokio_util::sync::CancellationToken;

use crate::nodes::{at, network_or};
use crate::support::{NEVER, PASSPHRASE, Reply, Server, client, dead_url};

async fn ours() -> Server {
    Server::start(network_or(|_, _| at(10))).await
}

/// A node of another network: it must be asked for its name only.
async fn foreign() -> Server {
    Server::start(|method, _| {
        assert_eq!(method, "getNetwork");
        Reply::Result(json!({ "passphrase": "Another Network" }))
    })
    .await
}

async fn confirm(rpc: &Rpc) -> Result<(), StartError> {
    confirm_network(rpc, &NetworkId::new(PASSPHRASE), &CancellationToken::new()).await
}

#[tokio::test]
async fn every_node_is_asked_for_its_network_at_start() {
    let (first, other) = (ours().await, foreign().await);
    let with_token = format!("{}/hunter2", other.url());
    let dead = dead_url().await;
    for (urls, wrong) in [
        (vec![first.url(), with_token.clone()], 2),
        (vec![with_token.clone()], 1),
        (vec![dead.clone(), first.url(), with_token], 3),
    ] {
        let refused = confirm(&client(&urls, NEVER, NEVER)).await.unwrap_err();
        assert!(matches!(refused, StartError::WrongNetwork { node, .. } if node == wrong));
        let said = refused.to_string();
        assert!(
            said.contains("Another Network") && !said.contains("hunter2"),
            "{said}"
        );
    }
    let rpc = client(&[dead, first.url()], NEVER, NEVER);
    assert!(confirm(&rpc).await.is_ok(), "one that answers is enough");
}

#[tokio::test]
async fn without_any_answer_the_start_waits_until_told_to_stop() {
    let rpc = client(&[dead_url().await, dead_url().await], NEVER, NEVER);
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    let stopped = confirm_network(&rpc, &NetworkId::new(PASSPHRASE), &shutdown).await;
    assert!(matches!(stopped, Err(StartError::Stopped)));
}

#[tokio::test]
async fn a_node_that_did_not_tell_its_network_at_start_tells_it_before_it_is_used() {
    let up = Arc::new(AtomicBool::new(false));
    let is_up = Arc::clone(&up);
    let late = Server::start(move |method, _| {
        assert_eq!(method, "getNetwork", "it must be asked for its name only");
        if is_up.load(Ordering::Relaxed) {
            Reply::Result(json!({ "passphrase": "Another Network" }))
        } else {
            Reply::Status(503)
        }
    })
    .await;
    let first = ours().await;
    let rpc = client(&[late.url(), first.url()], NEVER, NEVER);
    confirm(&rpc).await.unwrap();
    up.store(true, Ordering::Relaxed);
    let pinned = &rpc.each_node()[0];
    for _ in 0..2 {
        assert_eq!(pinned.latest().await, Err(Fault::Connect));
        let sent = pinned.send_transaction(TxHash([1; 32]), "AAAA").await;
        assert_eq!(sent.answer, SendAnswer::Unknown(Fault::Connect));
        assert_eq!(rpc.latest().await.unwrap().ledger, 10);
        let sent = rpc.send_transaction(TxHash([1; 32]), "AAAA").await;
        assert_eq!(sent.answer, SendAnswer::Pending);
    }
    let asked = rpc
        .calls()
        .iter()
        .find(|call| call.0.as_str() == "getNetwork")
        .unwrap()
        .1;
    assert_eq!(
        asked, 3,
        "twice at the start, and once before the first use"
    );
}

/// Whoever never called `confirm_network` is protected too.
#[tokio::test]
async fn a_node_of_another_network_is_never_used() {
    let (other, first) = (foreign().await, ours().await);
    let rpc = client(&[other.url(), first.url()], NEVER, NEVER);
    assert_eq!(rpc.latest().await.unwrap().ledger, 10);
    let none = client(&[other.url(), other.url()], NEVER, NEVER);
    for _ in 0..2 {
        assert_eq!(none.latest().await, Err(Fault::Connect));
    }
}
