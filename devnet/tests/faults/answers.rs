//! Answers that are late, broken or huge.

use crate::common::root;
use crate::support::{Served, base64, payment};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tender_devnet::faults::{Fault, Malformed, Rule, When};
use tender_devnet::network::Network;

fn always(fault: Fault) -> Vec<Rule> {
    vec![Rule::call(fault, &[], When::Always)]
}

fn request() -> String {
    let params = json!({"transaction": base64(&payment(1, &root(), 1))});
    json!({"jsonrpc": "2.0", "id": 5, "method": "sendTransaction", "params": params}).to_string()
}

#[tokio::test]
async fn an_answer_is_late() {
    let served = Served::by_hand().await;
    served.rules(always(Fault::Slow { ms: 300 }));
    let began = Instant::now();
    let answer = served.send(&payment(1, &root(), 1)).await;
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(answer["status"], "PENDING");
    let post = served.http.post(&served.url).body(request());
    let hasty = post.timeout(Duration::from_millis(20)).send().await;
    assert!(hasty.unwrap_err().is_timeout());
}

#[tokio::test]
async fn an_answer_cannot_be_read_though_the_envelope_was_taken() {
    for (kind, readable) in [
        (Malformed::Html, false),
        (Malformed::Truncated, false),
        (Malformed::WrongShape, true),
        (Malformed::Empty, false),
    ] {
        let served = Served::by_hand().await;
        served.rules(always(Fault::Malformed(kind)));
        let response = served.post(request()).await;
        assert_eq!(response.status(), 200);
        let text = response.text().await.unwrap();
        let json: Option<Value> = serde_json::from_str(&text).ok();
        assert_eq!(json.is_some(), readable, "{kind:?}: {text}");
        if let Some(json) = json {
            assert!(json["result"].is_string());
            assert_eq!(json["id"], 5);
        }
        assert_eq!(served.node.inspect(Network::pending), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn an_answer_is_huge() {
    let served = Served::by_hand().await;
    served.rules(always(Fault::Oversized { bytes: 3_000_000 }));
    let response = served.post(request()).await;
    let text = response.text().await.unwrap();
    assert_eq!(text.len(), 3_000_000);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["result"]["status"], "PENDING");
}
