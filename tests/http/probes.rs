//! Probes and metrics, as an api serves them and as the other roles do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::json;
use tender::domain::classify::SendAnswer;
use tender::http::{Check, Probed, Settings};
use tender::ledger::Pass;
use tender::metrics::Metrics;
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::Rpc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::support::{body, pointers, problem, ready, server, server_with};

fn check(name: &'static str, good: bool, detail: &str) -> Check {
    Check {
        name,
        good,
        detail: detail.to_owned(),
    }
}

async fn get(url: &str, path: &str) -> Response {
    let client = Client::builder().no_proxy().build().expect("a client");
    let answer = client.get(format!("{url}{path}")).send().await;
    answer.expect("an answer")
}

#[tokio::test]
async fn probes_tell_life_from_readiness() {
    let checks = vec![
        check("ledger", true, "reachable"),
        check("network", false, "12 ledgers behind"),
    ];
    let server = server_with(Settings::default(), ready(checks)).await;
    let live = get(&server.url, "/livez").await;
    assert_eq!(
        (live.status().as_u16(), body(live).await),
        (200, json!({"status": "ok"}))
    );
    let refused = problem(get(&server.url, "/readyz").await, 503, "not_ready").await;
    assert_eq!(pointers(&refused), ["/network"]);
    assert_eq!(refused["errors"][0]["detail"], json!("12 ledgers behind"));

    let checks = vec![check("ledger", true, "reachable")];
    let server = server_with(Settings::default(), ready(checks)).await;
    assert_eq!(
        body(get(&server.url, "/readyz").await).await,
        json!({"checks": [{"name": "ledger", "detail": "reachable"}]})
    );
}

#[tokio::test]
async fn metrics_show_requests_and_the_ledger() {
    let server = server().await;
    server.pushed("k").await;
    let answer = get(&server.url, "/metrics").await;
    assert_eq!(answer.status(), 200);
    let text = answer.text().await.expect("text");
    for line in [
        r#"http_requests_total{method="POST",status="202"} 1"#,
        r#"outbox_queue_depth{priority="NORMAL",status="pending"} 1"#,
        r#"outbox_channel_accounts{state="free"} 0"#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(!text.contains("reconciler_"), "none has run: {text}");
    let pass = Pass {
        ledger: 7,
        close_time: 1_800_000_000,
        period: Duration::from_secs(1),
    };
    server.ledger.note_progress(pass).await.expect("a note");
    let text = get(&server.url, "/metrics").await.text().await;
    let text = text.expect("text");
    assert!(text.contains("reconciler_pass_age_seconds 0"), "{text}");
    for line in [
        "outbox_unknown_outcomes 0",
        "outbox_stuck_submitted 0",
        r#"outbox_oldest_due_seconds{priority="NORMAL"} 0"#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

/// A role that serves probes and nothing else; its switch tells whether its loop is alive.
async fn role() -> (String, Arc<AtomicBool>, CancellationToken) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (alive, shutdown) = (Arc::new(AtomicBool::new(true)), CancellationToken::new());
    let switch = Arc::clone(&alive);
    let metrics = Arc::new(Metrics::new().expect("metrics"));
    metrics.send_answered(&SendAnswer::Pending);
    let second = Duration::from_secs(1);
    let node = "http://user:hunter2@127.0.0.1:9/hunter2".to_owned();
    let rpc = Rpc::new(NetworkId::new("x"), &[node], second, second).expect("a client");
    let probed = Probed {
        liveness: Arc::new(move || {
            let good = switch.load(Ordering::Relaxed);
            vec![
                check("feed", true, "runs"),
                check("worker", good, "has ended"),
            ]
        }),
        readiness: ready(vec![check("queue", true, "answers")]),
        metrics,
        rpc: Some(rpc),
        balances: Vec::new(),
        ledger: None,
    };
    tokio::spawn(tender::http::serve_probes(
        probed,
        listener,
        shutdown.clone(),
    ));
    (url, alive, shutdown)
}

#[tokio::test]
async fn a_role_with_a_dead_loop_is_not_alive() {
    let (url, alive, _shutdown) = role().await;
    assert_eq!(
        body(get(&url, "/livez").await).await,
        json!({"status": "ok"})
    );
    alive.store(false, Ordering::Relaxed);
    let dead = problem(get(&url, "/livez").await, 503, "not_alive").await;
    assert_eq!(pointers(&dead), ["/worker"]);
    assert_eq!(dead["errors"][0]["detail"], json!("has ended"));
    assert_eq!(dead["retryable"], json!(false), "it is started again");
    assert_eq!(get(&url, "/readyz").await.status(), 200);
}

#[tokio::test]
async fn a_role_counts_its_own_work_and_shows_no_secret() {
    let (url, _alive, _shutdown) = role().await;
    let text = get(&url, "/metrics").await.text().await.expect("text");
    for line in [
        r#"outbox_sends_total{answer="pending"} 1"#,
        r#"stellar_rpc_calls_total{method="getEvents"} 0"#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(
        !text.contains("outbox_queue_depth"),
        "apis show the rows, or they would be counted twice: {text}"
    );
    for path in ["/livez", "/readyz", "/metrics"] {
        let shown = get(&url, path).await.text().await.expect("text");
        assert!(!shown.contains("hunter2"), "{path}: {shown}");
    }
}

#[tokio::test]
async fn a_role_serves_nothing_but_probes() {
    let (url, _alive, shutdown) = role().await;
    for path in ["/transactions", "/admin/transactions/x", "/docs", "/"] {
        problem(get(&url, path).await, 404, "not_found").await;
    }
    shutdown.cancel();
}
