//! Answers lost on purpose, as a client sees them.

use crate::common::{Key, root};
use crate::support::{Served, base64, payment};
use serde_json::json;
use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;
use stellar_xdr::TransactionEnvelope;
use tender_devnet::faults::{Fault, FaultPlan, Loss};
use tender_devnet::network::Network;

async fn send(
    served: &Served,
    envelope: &TransactionEnvelope,
) -> Result<reqwest::Response, reqwest::Error> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "sendTransaction",
        "params": {"transaction": base64(envelope)}});
    let request = served.http.post(&served.url).json(&request);
    request.timeout(Duration::from_millis(300)).send().await
}

/// Whether a connection was reset without an answer.
fn is_reset(error: &reqwest::Error) -> bool {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return io.kind() == ErrorKind::ConnectionReset;
        }
        source = error.source();
    }
    false
}

/// Loses two sends in one way: one that the network took and one that it never saw.
async fn lose_two(
    served: &Served,
    loss: Loss,
    check: fn(Result<reqwest::Response, reqwest::Error>),
) {
    served.node.set_faults(FaultPlan::seeded(1, 1000, &[loss]));
    let mut waiting = 0;
    for _ in 0..2 {
        let hits = served.node.faults().hits.len();
        check(send(served, &payment(1, &root(), 1)).await);
        let report = served.node.faults();
        assert_eq!(report.hits.len(), hits + 1);
        let hit = &report.hits[hits];
        match hit.fault {
            Fault::AnswerLostAfterAccept(found) => {
                assert_eq!(found, loss);
                waiting = 1;
            }
            Fault::AnswerLostBeforeAccept(found) => assert_eq!(found, loss),
            other => panic!("{other:?}"),
        }
        assert_eq!(served.node.inspect(Network::pending), waiting);
    }
    let report = served.node.faults();
    assert_eq!((report.after_accept, report.before_accept), (1, 1));
    served.node.set_faults(FaultPlan::none());
    let answer = served.send(&payment(1, &root(), 1)).await;
    assert_eq!(answer["status"], "DUPLICATE");
    assert_eq!(answer["hash"], hex::encode(report.hits[0].hash.0));
    assert_eq!(served.node.calls()["sendTransaction"], 3);
}

#[tokio::test]
async fn a_connection_is_reset() {
    let served = Served::by_hand().await;
    lose_two(&served, Loss::Reset, |result| {
        let error = result.unwrap_err();
        assert!(is_reset(&error), "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn a_gateway_times_out() {
    let served = Served::by_hand().await;
    lose_two(&served, Loss::GatewayTimeout, |result| {
        assert_eq!(result.unwrap().status(), 504);
    })
    .await;
}

#[tokio::test]
async fn an_answer_never_comes() {
    let served = Served::by_hand().await;
    lose_two(&served, Loss::Hang, |result| {
        assert!(result.unwrap_err().is_timeout());
    })
    .await;
}

#[tokio::test]
async fn a_hanging_request_does_not_hold_up_the_end() {
    let served = Served::by_hand().await;
    served
        .node
        .set_faults(FaultPlan::seeded(1, 1000, &[Loss::Hang]));
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "sendTransaction",
        "params": {"transaction": base64(&payment(1, &root(), 1))}});
    let request = served.http.post(&served.url).json(&request).send();
    let hanging = tokio::spawn(request);
    while served.node.faults().hits.is_empty() {
        tokio::task::yield_now().await;
    }
    served.stop().await;
    assert!(hanging.await.unwrap().is_err());
}

#[tokio::test]
async fn a_lost_call_loses_its_batch_and_other_methods_are_spared() {
    let served = Served::by_hand().await;
    served
        .node
        .set_faults(FaultPlan::seeded(1, 1000, &[Loss::GatewayTimeout]));
    served.call("getHealth", json!({})).await;
    let send = |sequence| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "sendTransaction",
            "params": {"transaction": base64(&payment(sequence, &Key::named("x"), 1))}})
    };
    let health = json!({"jsonrpc": "2.0", "id": 2, "method": "getHealth"});
    let batch = json!([send(1), health, send(1)]);
    let response = served.post(batch.to_string()).await;
    assert_eq!(response.status(), 504);
    assert_eq!(served.node.calls()["getHealth"], 2);
    assert_eq!(served.node.calls()["sendTransaction"], 2);
    assert_eq!(served.node.inspect(Network::pending), 1);
    let unreadable = json!({"transaction": "AAAA"});
    let (code, _) = served.error("sendTransaction", unreadable).await;
    assert_eq!(code, -32_602);
}
