//! Every way of getting no answer is told apart, and none of them is taken for an answer.

use std::time::Duration;

use crate::nodes::{at, network_or};
use crate::support::{NEVER, Reply, Server, client, dead_url};
use serde_json::json;
use tender::domain::classify::{Fault, SendAnswer};
use tender::domain::ids::{AccountId, TxHash};
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::{BadNode, Method, Rpc};

const MIB: usize = 1 << 20;

#[tokio::test]
async fn faults_are_told_apart_whatever_is_asked() {
    let html = b"<html>a gateway</html>".to_vec();
    let table = [
        (Reply::Close, Fault::Reset),
        (Reply::Reset, Fault::Reset),
        (Reply::Cut(100), Fault::Reset),
        (Reply::Status(429), Fault::Http(429)),
        (Reply::Status(502), Fault::Http(502)),
        (Reply::Status(503), Fault::Http(503)),
        (Reply::Status(504), Fault::Http(504)),
        (Reply::Status(302), Fault::Http(302)),
        (Reply::Error(-32603), Fault::Rpc(-32603)),
        (Reply::Error(-32602), Fault::Rpc(-32602)),
        (Reply::Error(-32001), Fault::Rpc(-32001)),
        (Reply::Error(-32098), Fault::Rpc(-32098)),
        (Reply::Body(html), Fault::Malformed),
        (Reply::Body(b"{\"jsonrpc\":".to_vec()), Fault::Malformed),
        (Reply::Body(b"{}".to_vec()), Fault::Malformed),
        (Reply::Body(Vec::new()), Fault::Malformed),
        (Reply::Body(vec![0xff; 100]), Fault::Malformed),
        (Reply::Garbage, Fault::Malformed),
        (Reply::Result(json!({})), Fault::Malformed),
        (Reply::Result(json!(null)), Fault::Malformed),
        (Reply::OtherId(json!({})), Fault::Malformed),
        (Reply::Cut(11 * MIB), Fault::Malformed),
        (Reply::Chunks(11 * MIB), Fault::Malformed),
    ];
    for (reply, fault) in table {
        let server = Server::always(reply.clone()).await;
        let rpc = server.client();
        assert_eq!(rpc.latest().await, Err(fault), "{reply:?}");
        let sent = rpc.send_transaction(TxHash([1; 32]), "AAAA").await;
        assert_eq!(sent.answer, SendAnswer::Unknown(fault), "{reply:?}");
        assert_eq!(sent.seen, None, "{reply:?}");
    }
}

#[tokio::test]
async fn a_node_that_takes_no_connection_is_a_fault_of_its_own() {
    let rpc = client(&[dead_url().await], NEVER, NEVER);
    assert_eq!(rpc.latest().await, Err(Fault::Connect));
}

#[tokio::test]
async fn sends_and_reads_have_timeouts_of_their_own() {
    let short = Duration::from_millis(100);
    let server = Server::always(Reply::Hang).await;
    let urls = [server.url()];
    let sent = client(&urls, short, NEVER)
        .send_transaction(TxHash([1; 32]), "AAAA")
        .await;
    assert_eq!(sent.answer, SendAnswer::Unknown(Fault::Timeout));
    let read = client(&urls, NEVER, short).latest().await;
    assert_eq!(read, Err(Fault::Timeout));
}

#[tokio::test]
async fn each_node_is_asked_alone_and_the_calls_are_counted_together() {
    let down = Server::start(network_or(|_, _| Reply::Status(503))).await;
    let up = Server::start(network_or(|_, _| at(7))).await;
    let rpc = client(&[down.url(), dead_url().await, up.url()], NEVER, NEVER);
    let mut answers = Vec::new();
    for node in rpc.each_node() {
        answers.push(node.account_sequence(AccountId([1; 32])).await);
    }
    let expected = [Err(Fault::Http(503)), Err(Fault::Connect), Ok(None)];
    assert_eq!(answers, expected);
    assert!(rpc.calls().contains(&(Method::GetLedgerEntries, 2)));
}

#[tokio::test]
async fn calls_are_made_by_name_over_one_connection() {
    let server = Server::start(|_, params| {
        if params.is_object() {
            at(7)
        } else {
            Reply::Error(-32602)
        }
    })
    .await;
    let rpc = server.client();
    for _ in 0..5 {
        rpc.latest().await.unwrap();
        rpc.clone().latest().await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn addresses_that_cannot_be_asked_are_refused_and_not_repeated() {
    let network = NetworkId::new("test");
    let new = |urls: &[&str]| {
        let urls: Vec<_> = urls.iter().map(|url| (*url).to_owned()).collect();
        Rpc::new(network.clone(), &urls, NEVER, NEVER).map(|_| ())
    };
    assert_eq!(new(&[]), Err(BadNode::None));
    for bad in ["", "node", "ftp://node", "http://"] {
        assert_eq!(new(&["http://node", bad]), Err(BadNode::Url(2)), "{bad}");
    }
    let with_password = "gopher://user:hunter2@node";
    let said = new(&[with_password]).unwrap_err().to_string();
    assert!(!said.contains("hunter2"), "{said}");
    assert_eq!(new(&["https://node", "http://node:8000/rpc"]), Ok(()));
}
