//! A worker dies at the worst moments: its envelope recorded, the network's answer not noted.

use std::time::{Duration, Instant};

use tender_devnet::faults::FaultPlan;

use crate::{
    deployment::{Api, CLOSE, Deployment},
    hanging::{Lost, hanging},
    support::process::Process,
    waiting::{until, when},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A payment whose worker was killed while it waited for the answer to its send.
struct Crashed {
    deployment: Deployment,
    api: Api,
    id: String,
}

/// No ledger closes and no reconciler runs, so nobody but the worker can have touched the row.
async fn crash(lost: Lost) -> Crashed {
    let deployment = Deployment::start(2).await;
    deployment.ledgers.stop();
    let api = deployment.api();
    let mut workers = deployment.workers(1);
    deployment.node.set_faults(hanging(lost));
    let id = deployment.client(&api).push(deployment.payment(0)).await;
    until("a send without an answer", PATIENCE, async || {
        let faults = deployment.node.faults();
        when(faults.after_accept + faults.before_accept == 1, faults)
    })
    .await;
    let in_queue = deployment
        .node
        .inspect(tender_devnet::network::Network::pending);
    assert_eq!(in_queue, usize::from(lost == Lost::AfterAccept));
    deployment.print_rows("the worker waits for the answer", &id);
    workers[0].kill9();
    deployment.node.set_faults(FaultPlan::none());
    deployment.print_rows("the worker is killed", &id);
    let row = &format!("SELECT status, pair_held FROM submission_ledger WHERE id = '{id}'");
    let row = deployment.postgres.psql(&deployment.database, row);
    assert_eq!(row, "submitted|t", "recorded, and no answer noted");
    Crashed {
        deployment,
        api,
        id,
    }
}

/// Ledgers close again; the payment must end confirmed with one effect.
async fn converge(crashed: &Crashed, _processes: &[Process]) {
    let deployment = &crashed.deployment;
    deployment.ledgers.resume(CLOSE);
    deployment.confirmed(1, PATIENCE).await;
    deployment.print_rows("settled", &crashed.id);
    let figures = deployment.assert_paid_once(&[deployment.payment(0)]).await;
    println!(
        "{figures:?}, sends: {:?}",
        deployment.node.calls()["sendTransaction"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_worker_killed_after_the_network_accepted_is_restarted_and_pays_once() {
    let crashed = crash(Lost::AfterAccept).await;
    let mut processes = crashed.deployment.workers(1);
    processes.extend(crashed.deployment.reconcilers(1));
    converge(&crashed, &processes).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reconciler_alone_settles_what_a_killed_worker_sent() {
    let crashed = crash(Lost::AfterAccept).await;
    let processes = crashed.deployment.reconcilers(1);
    converge(&crashed, &processes).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reconciler_alone_sends_what_a_killed_worker_recorded() {
    let crashed = crash(Lost::BeforeAccept).await;
    let processes = crashed.deployment.reconcilers(1);
    converge(&crashed, &processes).await;
}

/// How long a send may take is 20 s; nobody else may have to wait for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_send_that_hangs_keeps_no_other_payment_from_being_settled() {
    let crashed = crash(Lost::BeforeAccept).await;
    let deployment = &crashed.deployment;
    deployment.node.set_faults(hanging(Lost::BeforeAccept));
    let _reconcilers = deployment.reconcilers(1);
    until("the reconciler's send to hang", PATIENCE, async || {
        let faults = deployment.node.faults();
        when(faults.before_accept == 1, faults)
    })
    .await;
    deployment.node.set_faults(FaultPlan::none());
    let began = Instant::now();
    let _workers = deployment.workers(1);
    let other = deployment.payment(1);
    deployment.client(&crashed.api).push(other).await;
    deployment.ledgers.resume(CLOSE);
    deployment.confirmed(1, Duration::from_secs(15)).await;
    println!(
        "another payment was confirmed after {:.1?}",
        began.elapsed()
    );
    deployment.figures(&[other]).assert_each_once();
}
