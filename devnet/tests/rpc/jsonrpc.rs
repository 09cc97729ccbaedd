//! JSON-RPC itself: batches, notifications, and bodies that are not requests.

use crate::common::root;
use crate::support::{Served, base64, payment};
use serde_json::{Value, json};
use tender_devnet::network::Network;
use tender_devnet::rpc::{MAX_BATCH, MAX_BODY_BYTES};

async fn post(served: &Served, body: impl Into<reqwest::Body>) -> Value {
    let response = served.post(body).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    response.json().await.unwrap()
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap()
}

#[tokio::test]
async fn bodies_that_are_no_requests_get_an_error_with_status_200() {
    let served = Served::by_hand().await;
    for (body, expected, id) in [
        ("", -32_700, Value::Null),
        ("{", -32_700, Value::Null),
        ("[]", -32_600, Value::Null),
        ("5", -32_600, Value::Null),
        (r#"{"id": 1, "method": "getHealth"}"#, -32_600, json!(1)),
        (
            r#"{"jsonrpc": "1.0", "id": "a", "method": "getHealth"}"#,
            -32_600,
            json!("a"),
        ),
        (r#"{"jsonrpc": "2.0", "id": 2}"#, -32_600, json!(2)),
        (
            r#"{"jsonrpc": "2.0", "id": [], "method": "getHealth"}"#,
            -32_600,
            Value::Null,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 3, "method": "nope"}"#,
            -32_601,
            json!(3),
        ),
    ] {
        let answer = post(&served, body).await;
        assert_eq!(code(&answer), expected, "{body}");
        assert_eq!(answer["id"], id, "{body}");
        assert_eq!(answer["jsonrpc"], "2.0");
    }
    let unknown = post(&served, r#"{"jsonrpc": "2.0", "id": 3, "method": "nope"}"#).await;
    assert_eq!(unknown["error"]["data"], "nope");
}

#[tokio::test]
async fn a_batch_is_answered_in_order_without_its_notifications() {
    let served = Served::by_hand().await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": "first", "method": "getLatestLedger"},
        {"jsonrpc": "2.0", "method": "sendTransaction",
         "params": {"transaction": base64(&payment(1, &root(), 1))}},
        {"jsonrpc": "2.0", "id": 2, "method": "nope"},
        17,
        {"jsonrpc": "2.0", "id": 3, "method": "getNetwork", "params": null},
    ]);
    let answers = post(&served, batch.to_string()).await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 4);
    assert_eq!(answers[0]["id"], "first");
    assert_eq!(answers[0]["result"]["sequence"], 10);
    assert_eq!(code(&answers[1]), -32_601);
    assert_eq!(code(&answers[2]), -32_600);
    assert_eq!(answers[3]["result"]["protocolVersion"], 26);
    assert_eq!(served.node.inspect(Network::pending), 1);
}

#[tokio::test]
async fn notifications_alone_have_no_answer() {
    let served = Served::by_hand().await;
    let notification = json!({"jsonrpc": "2.0", "method": "getHealth"});
    let response = served.post(notification.to_string()).await;
    assert_eq!(response.status(), 204);
    let response = served.post(json!([notification]).to_string()).await;
    assert_eq!(response.status(), 204);
    assert_eq!(served.node.calls()["getHealth"], 2);
}

#[tokio::test]
async fn sizes_are_limited() {
    let served = Served::by_hand().await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "getNetwork"});
    let most = vec![call.clone(); MAX_BATCH];
    let answers = post(&served, json!(most).to_string()).await;
    assert_eq!(answers.as_array().unwrap().len(), MAX_BATCH);
    let too_many = vec![call.clone(); MAX_BATCH + 1];
    assert_eq!(
        code(&post(&served, json!(too_many).to_string()).await),
        -32_600
    );
    let padding = " ".repeat(MAX_BODY_BYTES - call.to_string().len());
    let answer = post(&served, format!("{call}{padding}")).await;
    assert_eq!(answer["id"], 1);
    let response = served.post(format!("{call}{padding} ")).await;
    assert_eq!(response.status(), 413);
}

#[tokio::test]
async fn only_posts_are_answered_at_both_paths() {
    let served = Served::by_hand().await;
    let get = served.http.get(&served.url).send().await.unwrap();
    assert_eq!(get.status(), 405);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "getNetwork"});
    let url = format!("{}/rpc", served.url);
    let post = served.http.post(&url).json(&call).send().await.unwrap();
    assert_eq!(post.status(), 200);
    let url = format!("{}/other", served.url);
    let post = served.http.post(&url).json(&call).send().await.unwrap();
    assert_eq!(post.status(), 404);
}
