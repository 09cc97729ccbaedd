//! SIGTERM ends every role in good order, whatever it was doing, and nothing is lost.

use std::{
    thread,
    time::{Duration, Instant},
};

use tender_devnet::faults::{FaultPlan, Loss};
use tokio::task::block_in_place;

use crate::{
    deployment::Deployment,
    support::{port, process::Process},
};

const PAYMENTS: u32 = 150;
const CLIENTS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(90);
/// Longest that a role may take to end.
const LONGEST: Duration = Duration::from_secs(15);

/// Sends SIGTERM to all at once; each one's name and how long it took to end with status 0.
fn terminate(processes: Vec<(&'static str, Process)>) -> Vec<(&'static str, Duration)> {
    let ending: Vec<_> = processes
        .into_iter()
        .map(|(name, mut process)| {
            thread::spawn(move || {
                let began = Instant::now();
                let status = process.terminate();
                assert_eq!(status.code(), Some(0), "{name}: {}", process.log().tail());
                (name, began.elapsed())
            })
        })
        .collect();
    ending.into_iter().map(|one| one.join().unwrap()).collect()
}

async fn run(what: &str, faults: FaultPlan) {
    let bind = format!("127.0.0.1:{}", port::free());
    let deployment = Deployment::start_with(10, &[("HTTP_BIND", &bind)]).await;
    let api = deployment.api();
    let mut processes = Vec::new();
    processes.extend(deployment.workers(2).into_iter().map(|one| ("worker", one)));
    processes.extend(
        deployment
            .reconcilers(2)
            .into_iter()
            .map(|one| ("reconciler", one)),
    );
    let payments = deployment.payments(0..PAYMENTS);
    deployment.node.set_faults(faults);
    let load = deployment.load(&api, payments.clone(), 8, CLIENTS).start();
    deployment
        .confirmed(u64::from(PAYMENTS / 5), PATIENCE)
        .await;
    processes.push(("api", api.process));
    let took = block_in_place(|| terminate(processes));
    let counts = deployment.counts().await.unwrap();
    let lost = deployment.node.faults();
    deployment.node.set_faults(FaultPlan::none());
    println!("{what}: {took:.1?}");
    println!(
        "rows then {counts:?}; sends that hung: {}",
        lost.before_accept + lost.after_accept
    );
    assert!(took.iter().all(|(_, took)| *took < LONGEST), "{took:?}");
    assert_eq!(counts.get("building"), None, "a claim was left behind");
    let _api = deployment.api();
    let _workers = deployment.workers(1);
    let _reconcilers = deployment.reconcilers(1);
    let tally = load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let figures = deployment.assert_paid_once(&payments).await;
    println!("answers {:?}; {figures:?}", tally.answers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_role_ends_under_load() {
    run("SIGTERM under load", FaultPlan::none()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_role_ends_while_a_node_keeps_it_waiting() {
    let hanging = FaultPlan::seeded(7, 200, &[Loss::Hang]);
    run("SIGTERM while sends hang", hanging).await;
}
