//! Many processes, many callers, one effect a key.

use std::time::{Duration, Instant};

use crate::deployment::Deployment;

const PAYMENTS: u32 = 300;
const CLIENTS: usize = 8;
const COPIES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_key_takes_effect_once_although_it_is_pushed_three_times_and_a_worker_is_killed() {
    let deployment = Deployment::start(20).await;
    let api = deployment.api();
    let mut workers = deployment.workers(3);
    let _reconcilers = deployment.reconcilers(2);
    let payments = deployment.payments(0..PAYMENTS);
    let began = Instant::now();
    let load = deployment
        .load(&api, payments.clone(), COPIES, CLIENTS)
        .start();
    deployment
        .confirmed(u64::from(PAYMENTS / 4), PATIENCE)
        .await;
    let at_kill = deployment.counts().await.unwrap();
    workers[0].kill9();
    let tally = load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let took = began.elapsed();
    let figures = deployment.assert_paid_once(&payments).await;
    assert_eq!(tally.ids.len(), payments.len());
    assert_eq!(tally.accepted(), u64::from(PAYMENTS) * 3);
    println!("rows when a worker was killed: {at_kill:?}");
    println!(
        "{} pushes by {CLIENTS} clients, answers {:?}; all confirmed after {took:.1?}; {figures:?}",
        payments.len() * COPIES,
        tally.answers
    );
    println!("RPC calls: {:?}", deployment.node.calls());
    for survivor in &mut workers[1..] {
        assert!(survivor.is_running());
    }
}
