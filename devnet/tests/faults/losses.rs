//! Answers that get lost, of every method and in every way a provider has been seen to lose them.

use crate::common::root;
use crate::support::{Served, base64, payment};
use serde_json::{Value, json};
use std::time::Duration;
use tender_devnet::faults::{Fault, Loss, Rule, When};
use tender_devnet::network::Network;
use tender_devnet::rpc::Method;

const STATUSES: &[(Loss, u16)] = &[
    (Loss::TooManyRequests, 429),
    (Loss::BadGateway, 502),
    (Loss::ServiceUnavailable, 503),
    (Loss::GatewayTimeout, 504),
];
const CODES: &[(Loss, i64)] = &[
    (Loss::RpcInternal, -32_603),
    (Loss::RpcProcessingLimit, -32_001),
    (Loss::RpcQueueFull, -32_098),
];

/// A lost send and, by a plan without faults, whether the network has it.
async fn lose(fault: Fault) -> (Result<(u16, Value), reqwest::Error>, usize) {
    let patience = match fault {
        Fault::AnswerLostAfterAccept(Loss::Hang) | Fault::AnswerLostBeforeAccept(Loss::Hang) => 300,
        _ => 30_000,
    };
    let served = Served::by_hand().await;
    served.rules(vec![Rule::call(fault, &[], When::Nth(1))]);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "sendTransaction",
        "params": {"transaction": base64(&payment(1, &root(), 1))}});
    let request = served.http.post(&served.url).json(&request);
    let sent = request
        .timeout(Duration::from_millis(patience))
        .send()
        .await;
    let seen = match sent {
        Err(error) => Err(error),
        Ok(response) => {
            let status = response.status().as_u16();
            Ok((status, response.json().await.unwrap_or_default()))
        }
    };
    (seen, served.node.inspect(Network::pending))
}

#[tokio::test]
async fn a_proxy_answers_in_place_of_the_node() {
    for (loss, status) in STATUSES {
        let (seen, pending) = lose(Fault::AnswerLostAfterAccept(*loss)).await;
        assert_eq!((seen.unwrap().0, pending), (*status, 1), "{loss:?}");
        let (seen, pending) = lose(Fault::AnswerLostBeforeAccept(*loss)).await;
        assert_eq!((seen.unwrap().0, pending), (*status, 0), "{loss:?}");
    }
}

#[tokio::test]
async fn the_node_answers_an_error_whether_it_took_the_envelope_or_not() {
    for (loss, code) in CODES {
        for (fault, taken) in [
            (Fault::AnswerLostAfterAccept(*loss), 1),
            (Fault::AnswerLostBeforeAccept(*loss), 0),
        ] {
            let (seen, pending) = lose(fault).await;
            let (status, answer) = seen.unwrap();
            assert_eq!((status, pending), (200, taken), "{fault:?}");
            assert_eq!(answer["error"]["code"], *code, "{answer}");
            assert_eq!(answer["id"], 1);
            assert!(answer.get("result").is_none());
        }
    }
}

#[tokio::test]
async fn nothing_comes_back_at_all() {
    for (fault, taken) in [
        (Fault::AnswerLostAfterAccept(Loss::Hang), 1),
        (Fault::AnswerLostBeforeAccept(Loss::Hang), 0),
    ] {
        let (seen, pending) = lose(fault).await;
        assert!(seen.unwrap_err().is_timeout());
        assert_eq!(pending, taken);
    }
    let (seen, pending) = lose(Fault::AnswerLostAfterAccept(Loss::Reset)).await;
    assert!(seen.unwrap_err().is_request());
    assert_eq!(pending, 1);
}

#[tokio::test]
async fn other_methods_lose_their_answers_too_and_only_the_calls_picked() {
    let served = Served::by_hand().await;
    let fault = Fault::AnswerLostAfterAccept(Loss::RpcProcessingLimit);
    let methods = [Method::GetLatestLedger, Method::GetHealth];
    served.rules(vec![Rule::call(fault, &methods, When::Every(2))]);
    for round in 0..2 {
        served.call("getLatestLedger", json!({})).await;
        served.call("getNetwork", json!({})).await;
        let (code, _) = served.error("getHealth", json!({})).await;
        assert_eq!(code, -32_001, "round {round}");
    }
    let report = served.node.faults();
    assert_eq!((report.rules[0].matched, report.rules[0].fired), (4, 2));
}
