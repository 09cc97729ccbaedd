//! The endpoint that sets faults while the network runs.

use crate::common::{config, root};
use crate::support::{Served, payment};
use serde_json::{Value, json};
use tender_devnet::faults::MAX_PLAN_BYTES;
use tender_devnet::node::{DevNode, Pace};
use tender_devnet::rpc::{FrontEnd, serve_front};
use tokio::net::TcpListener;

async fn administered() -> (Served, String) {
    let node = DevNode::start(config(), Pace::ByHand);
    let served = Served::front(FrontEnd::new(node).with_admin()).await;
    let url = format!("{}/faults", served.url);
    (served, url)
}

async fn post(served: &Served, url: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let response = served.http.post(url).body(body).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

#[tokio::test]
async fn faults_are_set_told_and_ended() {
    let (served, url) = administered().await;
    let plan = json!({"seed": 3, "rules": [
        {"call": {"methods": ["sendTransaction"], "when": {"upTo": 1},
            "fault": {"tryAgainLater": {"taken": true}}}},
        {"close": {"fault": {"empty": {"ledgers": 1}}}},
    ]});
    let (status, report) = post(&served, &url, plan.to_string()).await;
    assert_eq!(status, 200, "{report}");
    assert_eq!(report["rules"][0]["fired"], 0);
    let answer = served.send(&payment(1, &root(), 1)).await;
    assert_eq!(answer["status"], "TRY_AGAIN_LATER");
    served.node.close_ledger();
    let hash = answer["hash"].as_str().unwrap();
    assert_eq!(served.look_up(hash).await["status"], "NOT_FOUND");
    let report: Value = served
        .http
        .get(&url)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(report["rules"][0]["fired"], 1);
    assert_eq!(report["rules"][1]["fired"], 1);
    assert_eq!(report["rules"][1]["rule"], plan_with_defaults());
    assert_eq!(report["hits"][0]["hash"], hash);
    let ended = served.http.delete(&url).send().await.unwrap();
    assert_eq!(ended.json::<Value>().await.unwrap(), report);
    served.node.close_ledger();
    assert_eq!(served.look_up(hash).await["status"], "SUCCESS");
    let report: Value = served
        .http
        .get(&url)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(report["rules"], json!([]));
}

fn plan_with_defaults() -> Value {
    json!({"close": {"when": "always", "fault": {"empty": {"ledgers": 1}}}})
}

#[tokio::test]
async fn what_is_no_plan_is_refused_with_the_reason() {
    let (served, url) = administered().await;
    for (plan, reason) in [
        ("[]".to_owned(), "not a plan"),
        (json!({"rules": [], "extra": 1}).to_string(), "extra"),
        (
            json!({"rules": [{"call": {"fault": "explode"}}]}).to_string(),
            "explode",
        ),
        (
            json!({"rules": [{"call": {"fault": {"lag": {"ledgers": 65}}}}]}).to_string(),
            "65",
        ),
        (
            json!({"rules": [{"call": {"fault": {"slow": {"ms": 60_001}}}}]}).to_string(),
            "60000",
        ),
        (
            json!({"rules": [{"close": {"fault": {"skew": {"seconds": -61, "ledgers": 1}}}}]})
                .to_string(),
            "seconds",
        ),
        (
            json!({"rules": [{"call": {"methods": ["getHealth"], "fault": "wrongHash"}}]})
                .to_string(),
            "getHealth",
        ),
        (
            json!({"rules": [{"call": {"fault": "wrongHash", "when": {"share": 1001}}}]})
                .to_string(),
            "1001",
        ),
        (
            json!({"rules": [{"call": {"fault": "wrongHash", "hashes": {"listed": ["ab"]}}}]})
                .to_string(),
            "64",
        ),
        (
            json!({"rules": [{"call": {"fault": "wrongHash", "when": {"nth": 0}}}]}).to_string(),
            "from 1",
        ),
        (
            json!({"rules": vec![json!({"call": {"fault": "wrongHash"}}); 101]}).to_string(),
            "100 rules",
        ),
    ] {
        let (status, problem) = post(&served, &url, plan.clone()).await;
        assert_eq!(status, 400, "{plan}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(reason), "{plan}: {detail}");
    }
    let (status, _) = post(&served, &url, " ".repeat(MAX_PLAN_BYTES + 1)).await;
    assert_eq!(status, 413);
}

#[tokio::test]
async fn only_this_machine_sets_faults_and_no_web_page() {
    let (served, url) = administered().await;
    let from_page = served
        .http
        .post(&url)
        .header("origin", "http://example.org");
    let refused = from_page.body(r#"{"rules": []}"#).send().await.unwrap();
    assert_eq!(refused.status(), 403);
    // A front end without the endpoint has none.
    let plain = Served::by_hand().await;
    let missing = plain
        .http
        .get(format!("{}/faults", plain.url))
        .send()
        .await
        .unwrap();
    assert!(missing.status().is_client_error());
    // One that everybody reaches refuses, even if asked from here.
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let front = FrontEnd::new(served.node.clone()).with_admin();
    let server = tokio::spawn(serve_front(front, listener, std::future::pending()));
    let url = format!("http://127.0.0.1:{port}/faults");
    let (status, problem) = post(&served, &url, r#"{"rules": []}"#).await;
    assert_eq!(status, 403);
    assert!(problem["detail"].as_str().unwrap().contains("loopback"));
    server.abort();
}
