//! Probes of running processes: what supervisors are told, and when.

use std::time::Duration;

use serde_json::Value;
use tokio::task::block_in_place;

use crate::{
    deployment::{Api, Deployment},
    support::process::{Process, get},
    waiting::{until, when},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Where a role serves its probes.
pub fn probes(process: &Process) -> String {
    let line = block_in_place(|| process.wait_for_line("probes is listening"));
    let line: Value = serde_json::from_str(&line).expect("a line of JSON");
    format!("http://{}", line["address"].as_str().expect("an address"))
}

fn ask(url: &str, path: &str) -> (u16, String) {
    block_in_place(|| get(&format!("{url}{path}"))).expect("somebody answers")
}

/// Names and details of what keeps it from being ready; none when it is.
pub fn missing(url: &str) -> Vec<(String, String)> {
    let (status, body) = ask(url, "/readyz");
    if status == 200 {
        return Vec::new();
    }
    let body: Value = serde_json::from_str(&body).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let errors = body["errors"].as_array().expect("errors").iter();
    errors
        .map(|error| (text(&error["pointer"]), text(&error["detail"])))
        .collect()
}

pub async fn ready(url: &str) {
    until("readiness", PATIENCE, async || {
        let missing = missing(url);
        when(missing.is_empty(), missing)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_api_is_ready_once_a_reconciler_has_passed_and_until_none_does() {
    let deployment = Deployment::start(1).await;
    let Api { url, process } = deployment.api();
    let none = ("/reconciler".to_owned(), "no reconciler has run yet".into());
    assert_eq!(missing(&url), [none]);
    let mut reconcilers = deployment.reconcilers(1);
    ready(&url).await;
    let (_, told) = ask(&url, "/readyz");
    println!("{told}");
    for name in ["ledger", "queue", "network", "reconciler"] {
        assert!(told.contains(&format!(r#""name":"{name}""#)), "{told}");
    }
    block_in_place(|| reconcilers[0].kill9());
    let long_ago = "UPDATE reconciler_progress SET passed_at = passed_at - 31000";
    deployment.postgres.psql(&deployment.database, long_ago);
    let names: Vec<_> = missing(&url).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["/reconciler"]);
    assert_eq!(ask(&url, "/livez").0, 200, "the api itself is alive");
    drop(process);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_and_reconcilers_tell_how_they_are_and_what_they_did() {
    let bind = [("PROBE_BIND", "127.0.0.1:0")];
    let mut deployment = Deployment::start_with(2, &bind).await;
    let api = deployment.api();
    let (workers, reconcilers) = (deployment.workers(1), deployment.reconcilers(1));
    let (worker, reconciler) = (probes(&workers[0]), probes(&reconcilers[0]));
    ready(&worker).await;
    ready(&reconciler).await;
    let payments = deployment.payments(0..3);
    deployment.load(&api, payments, 1, 1).start().done().await;
    deployment.confirmed(3, PATIENCE).await;
    let (status, sent) = ask(&worker, "/metrics");
    assert_eq!(status, 200);
    let answered = r#"outbox_sends_total{answer="pending"} 3"#;
    assert!(sent.contains(answered), "{answered} in\n{sent}");
    assert!(sent.contains(r#"stellar_rpc_calls_total{method="sendTransaction"} 3"#));
    let settled = "reconciler_settled_total 3";
    until(settled, PATIENCE, async || {
        let (_, counted) = ask(&reconciler, "/metrics");
        when(counted.contains(settled), counted)
    })
    .await;
    let (_, counted) = ask(&reconciler, "/metrics");
    let ended = r#"outbox_ops_total{kind="payment",outcome="confirmed",priority="NORMAL"} 3"#;
    assert!(counted.contains(ended), "{ended} in\n{counted}");
    for shown in [sent, counted] {
        assert!(!shown.contains(&deployment.channel_seed), "{shown}");
        assert!(!shown.contains("postgres://"), "{shown}");
    }
    block_in_place(|| deployment.redis.kill9());
    for url in [&worker, &reconciler] {
        let queue = ("/queue".to_owned(), "does not answer".to_owned());
        assert_eq!(missing(url), [queue]);
        let (status, said) = ask(url, "/livez");
        assert_eq!(status, 200, "an outage is waited out: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_worker_that_waits_for_the_network_is_alive_and_not_ready() {
    let deployment = Deployment::start_with(1, &[("PROBE_BIND", "127.0.0.1:0")]).await;
    let waiting = deployment
        .launch(&["worker"])
        .env("STELLAR_RPC_URLS", "http://127.0.0.1:1")
        .start();
    let url = probes(&waiting);
    assert_eq!(ask(&url, "/livez").0, 200);
    let network = ("/network".to_owned(), "does not answer".to_owned());
    assert_eq!(missing(&url), [network]);
}
