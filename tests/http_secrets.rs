//! No secret leaves the service: neither in answers nor in what it logs, at any level.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

#[path = "http/support.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of the contract, which use the rest"
)]
mod support;

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tender::flow::keys::Scope;
use tracing_subscriber::filter::LevelFilter;

use support::{payment, server};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("a log").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_secret_is_answered_or_logged() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let mut server = server().await;
    let id = server.pushed("k").await;
    let secrets = [
        server.token.clone(),
        server.key("operations", &[Scope::OutboxWrite]).await,
    ];
    let mut shown = String::new();
    for token in &secrets {
        server.token.clone_from(token);
        let requests = [
            server.get("/transactions"),
            server.get(&format!("/transactions/{id}")),
            server.get("/transactions?limit=x"),
            server.get("/nowhere"),
            server.get("/metrics"),
            server.get("/readyz"),
            server.post("/transactions", &payment()),
            server.post("/transactions", &json!({"operation": 1})),
            server.post(
                &format!("/admin/transactions/{id}/cancel"),
                &json!({"reason": "test"}),
            ),
            server.get("/transactions").bearer_auth(format!("{token}0")),
        ];
        for request in requests {
            let response = request.send().await.expect("an answer");
            for value in response.headers().values() {
                shown += &String::from_utf8_lossy(value.as_bytes());
            }
            shown += &response.text().await.expect("a body");
        }
    }
    let logged = String::from_utf8_lossy(&log.0.lock().expect("a log")).into_owned();
    assert!(logged.contains("request_id"), "requests are logged");
    for token in &secrets {
        let secret = token.rsplit('_').next().expect("a secret");
        assert!(!shown.contains(secret), "an answer shows a secret");
        let line = logged.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "a secret is logged");
    }
}
