//! No node can be reached for a while, or none answers, while payments are pushed and paid. The network goes on.

use std::time::Duration;

use tokio::time::timeout;

use crate::{
    deployment::Deployment,
    probing::{missing, probes, ready},
    support::{process::Process, proxy::Weather},
    waiting::{until, when},
};

const PAYMENTS: u32 = 200;
const CLIENTS: usize = 8;
/// Ledgers that close meanwhile, each a second of the network's time.
const LEDGERS: u32 = 40;
const PATIENCE: Duration = Duration::from_secs(90);

async fn run(outage: Weather) {
    let mut deployment = Deployment::start_with(12, &[("PROBE_BIND", "127.0.0.1:0")]).await;
    let network = deployment.proxy_network().await;
    let api = deployment.api();
    let mut processes = deployment.workers(2);
    processes.extend(deployment.reconcilers(1));
    let worker = probes(&processes[0]);
    ready(&worker).await;
    let payments = deployment.payments(0..PAYMENTS);
    let load = deployment.load(&api, payments.clone(), 1, CLIENTS).start();
    deployment
        .confirmed(u64::from(PAYMENTS / 4), PATIENCE)
        .await;
    network.set(outage);
    until("the network to be missed", PATIENCE, async || {
        let names: Vec<_> = missing(&worker).into_iter().map(|it| it.0).collect();
        when(names.contains(&"/network".to_owned()), names)
    })
    .await;
    let answers = load.done().await.answers;
    assert_eq!(
        answers.keys().collect::<Vec<_>>(),
        [&202],
        "accepting needs no network"
    );
    let mut latest = deployment.node.latest();
    let enough = latest.borrow().sequence + LEDGERS;
    let closed = latest.wait_for(|seen| seen.sequence >= enough);
    timeout(PATIENCE, closed).await.unwrap().unwrap();
    let unpaid = deployment.counts().await.unwrap();
    assert!(unpaid["pending"] > 0, "{unpaid:?}");
    network.set(Weather::Fair);
    ready(&worker).await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    println!(
        "{outage:?}: {:?}",
        deployment.assert_paid_once(&payments).await
    );
    processes.push(api.process);
    assert!(processes.iter_mut().all(Process::is_running));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_cannot_be_reached_for_a_while_cost_no_payment() {
    run(Weather::Down).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_keep_silent_for_a_while_cost_no_payment() {
    run(Weather::Silent).await;
}
