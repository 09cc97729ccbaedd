use serde_json::{Value, json};
use tender::http::{Check, Settings};

use crate::support::{body, header, pointers, problem, ready, server, server_with};

fn check(name: &'static str, ready: bool, detail: &str) -> Check {
    Check {
        name,
        ready,
        detail: detail.to_owned(),
    }
}

#[tokio::test]
async fn probes_tell_life_from_readiness() {
    let checks = vec![
        check("ledger", true, "reachable"),
        check("network", false, "12 ledgers behind"),
    ];
    let server = server_with(Settings::default(), ready(checks)).await;
    let get = |path: &str| server.client.get(format!("{}{path}", server.url)).send();
    let live = get("/livez").await.expect("an answer");
    assert_eq!(
        (live.status().as_u16(), body(live).await),
        (200, json!({"status": "ok"}))
    );
    let refused = problem(get("/readyz").await.expect("an answer"), 503, "not_ready").await;
    assert_eq!(pointers(&refused), ["/network"]);
    assert_eq!(refused["errors"][0]["detail"], json!("12 ledgers behind"));

    let checks = vec![check("ledger", true, "reachable")];
    let server = server_with(Settings::default(), ready(checks)).await;
    let answer = server
        .client
        .get(format!("{}/readyz", server.url))
        .send()
        .await;
    assert_eq!(
        body(answer.expect("an answer")).await,
        json!({"checks": [{"name": "ledger", "detail": "reachable"}]})
    );
}

#[tokio::test]
async fn metrics_show_requests_and_the_ledger() {
    let server = server().await;
    server.pushed("k").await;
    let answer = server
        .client
        .get(format!("{}/metrics", server.url))
        .send()
        .await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), 200);
    let text = answer.text().await.expect("text");
    for line in [
        r#"http_requests_total{method="POST",status="202"} 1"#,
        r#"outbox_queue_depth{priority="NORMAL",status="pending"} 1"#,
        r#"outbox_channel_accounts{state="free"} 0"#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[tokio::test]
async fn the_document_is_served_as_json_and_as_a_page() {
    let server = server().await;
    let get = |path: &str| server.client.get(format!("{}{path}", server.url)).send();
    let document = get("/openapi.json").await.expect("an answer");
    assert_eq!(header(&document, "content-type"), Some("application/json"));
    let document: Value = body(document).await;
    assert!(document["paths"]["/transactions/{id}/status"]["get"].is_object());
    let page = get("/docs").await.expect("an answer");
    assert_eq!(
        header(&page, "content-type"),
        Some("text/html; charset=utf-8")
    );
    let page = page.text().await.expect("a page");
    assert!(
        page.contains("pushTransaction") && !page.contains("<script src="),
        "needs no other host"
    );
}
