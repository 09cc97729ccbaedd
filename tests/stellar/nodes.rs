//! Several nodes: which one is asked, which one is left, and which one is not believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tender::domain::classify::{Fault, SendAnswer};
use tender::domain::ids::{AccountId, TxHash};
use tender::stellar::rpc::{Method, Rpc};

use crate::support::{NEVER, PASSPHRASE, Reply, Server, client, dead_url};

const CLOSED_AT: u64 = 1_767_225_660;

/// Whatever is asked that tells of the last ledger, and a send.
pub fn at(ledger: u32) -> Reply {
    let close_time = (CLOSED_AT + u64::from(ledger) * 5).to_string();
    Reply::Result(json!({
        "sequence": ledger,
        "closeTime": close_time,
        "status": "PENDING",
        "hash": TxHash([1; 32]).to_string(),
        "latestLedger": ledger,
        "latestLedgerCloseTime": close_time,
        "oldestLedger": 2,
        "entries": [],
    }))
}

/// Tells the network's name, and leaves the rest to `reply`.
pub fn network_or(
    reply: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static,
) -> impl Fn(&str, &Value) -> Reply + Send + Sync + 'static {
    move |method, params| match method {
        "getNetwork" => Reply::Result(json!({ "passphrase": PASSPHRASE })),
        _ => reply(method, params),
    }
}

/// A node of our network whose ledger the test turns.
struct Node {
    server: Server,
    ledger: Arc<AtomicU32>,
    sends: Arc<AtomicU32>,
    fault: Arc<AtomicBool>,
}

impl Node {
    /// While told to fail it replies with `fault`.
    async fn start(ledger: u32, fault: Reply) -> Self {
        let ledger = Arc::new(AtomicU32::new(ledger));
        let (sends, fails) = (
            Arc::new(AtomicU32::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (height, count, failing) =
            (Arc::clone(&ledger), Arc::clone(&sends), Arc::clone(&fails));
        let server = Server::start(network_or(move |method, _| {
            count.fetch_add(u32::from(method == "sendTransaction"), Ordering::Relaxed);
            if failing.load(Ordering::Relaxed) {
                fault.clone()
            } else {
                at(height.load(Ordering::Relaxed))
            }
        }))
        .await;
        Self {
            server,
            ledger,
            sends,
            fault: fails,
        }
    }

    async fn well(ledger: u32) -> Self {
        Self::start(ledger, Reply::Close).await
    }

    fn turn(&self, ledger: u32) {
        self.ledger.store(ledger, Ordering::Relaxed);
    }

    fn fail(&self, fails: bool) {
        self.fault.store(fails, Ordering::Relaxed);
    }

    fn sends(&self) -> u32 {
        self.sends.load(Ordering::Relaxed)
    }
}

fn over(nodes: &[&Node]) -> Rpc {
    let urls: Vec<_> = nodes.iter().map(|node| node.server.url()).collect();
    client(&urls, NEVER, NEVER)
}

async fn send(rpc: &Rpc) -> SendAnswer {
    rpc.send_transaction(TxHash([1; 32]), "AAAA").await.answer
}

async fn ledger(rpc: &Rpc) -> Result<u32, Fault> {
    rpc.latest().await.map(|seen| seen.ledger)
}

fn count(rpc: &Rpc, method: Method) -> u64 {
    let calls = rpc.calls();
    let counted = calls.iter().find(|(counted, _)| *counted == method);
    counted.unwrap().1
}

/// Asks until the node that is at that ledger answers: looks at the others are under way meanwhile.
async fn until(rpc: &Rpc, expected: u32) {
    for _ in 0..10_000 {
        if ledger(rpc).await == Ok(expected) {
            return;
        }
    }
    panic!("nobody answers from ledger {expected}");
}

/// Lets time pass for the client, which reckons rests and looks by it.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

fn faults() -> Vec<(Reply, Fault)> {
    vec![
        (Reply::Reset, Fault::Reset),
        (Reply::Status(429), Fault::Http(429)),
        (Reply::Status(503), Fault::Http(503)),
        (Reply::Error(-32603), Fault::Rpc(-32603)),
        (Reply::Error(-32001), Fault::Rpc(-32001)),
        (Reply::Body(b"<html>".to_vec()), Fault::Malformed),
        (Reply::Result(json!({ "hash": "00" })), Fault::Malformed),
    ]
}

#[tokio::test]
async fn a_send_is_not_repeated_and_the_next_one_goes_to_another_node() {
    for (reply, fault) in faults() {
        let (first, second) = (Node::start(9, reply).await, Node::well(10).await);
        let rpc = over(&[&first, &second]);
        first.fail(true);
        assert_eq!(send(&rpc).await, SendAnswer::Unknown(fault));
        assert_eq!((first.sends(), second.sends()), (1, 0), "{fault:?}");
        assert_eq!(send(&rpc).await, SendAnswer::Pending);
        assert_eq!((first.sends(), second.sends()), (1, 1), "{fault:?}");
    }
}

#[tokio::test]
async fn a_send_that_hangs_is_a_timeout_and_the_next_one_goes_to_another_node() {
    let (first, second) = (Node::start(9, Reply::Hang).await, Node::well(10).await);
    let urls = [first.server.url(), second.server.url()];
    let rpc = client(&urls, Duration::from_millis(200), NEVER);
    first.fail(true);
    assert_eq!(send(&rpc).await, SendAnswer::Unknown(Fault::Timeout));
    assert_eq!(send(&rpc).await, SendAnswer::Pending);
    assert_eq!((first.sends(), second.sends()), (1, 1));
}

/// Reads have no effect, so the next node's answer is as good. Three nodes that fail are not all asked.
#[tokio::test]
async fn a_read_is_repeated_once() {
    for (reply, fault) in faults() {
        let (first, second) = (
            Node::start(9, reply.clone()).await,
            Node::start(10, reply).await,
        );
        let third = Node::well(10).await;
        let rpc = over(&[&first, &second, &third]);
        first.fail(true);
        let read = async |rpc: &Rpc| rpc.account_sequence(AccountId([1; 32])).await;
        assert_eq!(read(&rpc).await, Ok(None), "{fault:?}");
        second.fail(true);
        let rpc = over(&[&first, &second, &third]);
        assert_eq!(read(&rpc).await, Err(fault));
        assert_eq!(count(&rpc, Method::GetLedgerEntries), 2, "{fault:?}");
    }
}

#[tokio::test]
async fn what_the_request_is_to_blame_for_does_not_count_against_the_node() {
    for code in [-32600, -32601, -32602] {
        let (first, second) = (
            Node::start(10, Reply::Error(code)).await,
            Node::well(10).await,
        );
        let rpc = over(&[&first, &second]);
        first.fail(true);
        assert_eq!(ledger(&rpc).await, Err(Fault::Rpc(code)));
        first.fail(false);
        assert_eq!(send(&rpc).await, SendAnswer::Pending);
        assert_eq!((first.sends(), second.sends()), (1, 0));
    }
}

#[tokio::test]
async fn the_first_node_is_preferred_again_once_it_has_rested_and_answers() {
    let (first, second) = (
        Node::start(10, Reply::Status(503)).await,
        Node::well(10).await,
    );
    let rpc = over(&[&first, &second]);
    first.fail(true);
    assert!(ledger(&rpc).await.is_ok());
    assert_eq!(send(&rpc).await, SendAnswer::Pending);
    pass(Duration::from_secs(11)).await;
    // It is looked at, and still fails: nothing else is risked on it.
    let before = count(&rpc, Method::GetHealth);
    for _ in 0..10_000 {
        assert_eq!(send(&rpc).await, SendAnswer::Pending);
        if count(&rpc, Method::GetHealth) > before {
            break;
        }
    }
    assert!(count(&rpc, Method::GetHealth) > before);
    assert_eq!(first.sends(), 0);
    first.fail(false);
    for _ in 0..1_000 {
        pass(Duration::from_secs(11)).await;
        assert_eq!(send(&rpc).await, SendAnswer::Pending);
        if first.sends() > 0 {
            return;
        }
    }
    panic!("it is never asked again");
}

#[tokio::test]
async fn the_only_node_is_asked_however_often_it_fails() {
    let only = Node::start(10, Reply::Status(503)).await;
    let rpc = over(&[&only]);
    only.fail(true);
    for _ in 0..3 {
        assert_eq!(ledger(&rpc).await, Err(Fault::Http(503)));
    }
    only.fail(false);
    assert_eq!(ledger(&rpc).await, Ok(10));
    only.turn(1_000_000);
    assert_eq!(ledger(&rpc).await, Ok(1_000_000), "and it is believed");
    let calls: u64 = rpc.calls().iter().map(|(_, count)| count).sum();
    assert_eq!(calls, 5, "nothing is asked besides");
}

#[tokio::test]
async fn a_node_that_lags_is_left_until_it_has_caught_up() {
    let (first, second) = (Node::well(5).await, Node::well(10).await);
    let rpc = over(&[&first, &second]);
    assert_eq!(
        ledger(&rpc).await,
        Ok(5),
        "where the others are is known after it"
    );
    assert_eq!(ledger(&rpc).await, Ok(10));
    second.turn(12);
    assert_eq!(ledger(&rpc).await, Ok(12));
    first.turn(13);
    pass(Duration::from_secs(11)).await;
    until(&rpc, 13).await;
}

#[tokio::test]
async fn a_node_that_begins_to_lag_is_noticed() {
    let (first, second) = (Node::well(10).await, Node::well(10).await);
    let rpc = over(&[&first, &second]);
    assert_eq!(ledger(&rpc).await, Ok(10));
    second.turn(14);
    pass(Duration::from_secs(11)).await;
    until(&rpc, 14).await;
}

#[tokio::test]
async fn a_node_implausibly_ahead_is_not_believed_until_the_others_catch_up() {
    let (first, second) = (Node::well(5_000).await, Node::well(10).await);
    let rpc = over(&[&first, &second]);
    assert_eq!(ledger(&rpc).await, Ok(10), "not even at first");
    let pinned = &rpc.each_node()[0];
    assert_eq!(ledger(pinned).await, Err(Fault::Malformed));
    assert_eq!(send(pinned).await, SendAnswer::Unknown(Fault::Malformed));
    assert_eq!(send(&rpc).await, SendAnswer::Pending);
    assert_eq!((first.sends(), second.sends()), (1, 1));
    second.turn(4_990);
    assert_eq!(ledger(&rpc).await, Ok(4_990));
    pass(Duration::from_secs(11)).await;
    until(&rpc, 5_000).await;
}

#[tokio::test]
async fn a_node_that_jumps_ahead_is_set_aside_and_believed_when_it_is_the_only_one_left() {
    let (first, second) = (
        Node::well(10).await,
        Node::start(10, Reply::Status(503)).await,
    );
    let rpc = over(&[&first, &second]);
    assert_eq!(ledger(&rpc).await, Ok(10));
    first.turn(100);
    assert_eq!(ledger(&rpc).await, Ok(10));
    second.fail(true);
    assert!(ledger(&rpc).await.is_err());
    pass(Duration::from_secs(61)).await;
    until(&rpc, 100).await;
}

#[tokio::test]
async fn nodes_that_stand_still_do_not_discredit_one_that_goes_on() {
    let (first, second) = (Node::well(10).await, Node::well(10).await);
    let rpc = over(&[&first, &second]);
    for next in 10..60 {
        first.turn(next);
        assert_eq!(ledger(&rpc).await, Ok(next));
    }
}

#[tokio::test]
async fn a_dead_first_node_costs_nothing_after_it_was_found_dead() {
    let second = Node::well(10).await;
    let rpc = client(&[dead_url().await, second.server.url()], NEVER, NEVER);
    for _ in 0..3 {
        assert_eq!(send(&rpc).await, SendAnswer::Pending);
    }
    assert_eq!(second.sends(), 3);
    assert_eq!(count(&rpc, Method::GetNetwork), 2);
}
