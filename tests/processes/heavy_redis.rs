//! Redis forgets everything, or dies, while payments are under way. It held hints only.

use std::time::{Duration, Instant};

use tokio::task::block_in_place;

use crate::deployment::Deployment;

const PAYMENTS: u32 = 200;
const CLIENTS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs payments, and at each quarter of them lets `strike` do what it does to Redis.
async fn run(what: &str, mut strike: impl AsyncFnMut(&mut Deployment)) {
    let mut deployment = Deployment::start(12).await;
    let mut api = deployment.api();
    let mut workers = deployment.workers(2);
    let mut reconcilers = deployment.reconcilers(1);
    let payments = deployment.payments(0..PAYMENTS);
    let began = Instant::now();
    let load = deployment.load(&api, payments.clone(), 1, CLIENTS).start();
    let mut keys = Vec::new();
    for quarter in 1..4 {
        let confirmed = u64::from(quarter * PAYMENTS / 4);
        deployment.confirmed(confirmed, PATIENCE).await;
        keys.push(block_in_place(|| deployment.redis.key_count()));
        strike(&mut deployment).await;
    }
    let tally = load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let took = began.elapsed();
    let figures = deployment.assert_paid_once(&payments).await;
    println!(
        "{what} 3 times ({keys:?} keys then); pushes answered {:?}",
        tally.answers
    );
    println!("all confirmed after {took:.1?}; {figures:?}");
    assert!(api.process.is_running());
    assert!(
        workers
            .iter_mut()
            .chain(&mut reconcilers)
            .all(super::support::process::Process::is_running)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn flushall_in_the_middle_loses_no_payment_and_pays_none_twice() {
    run("FLUSHALL", async |deployment| {
        block_in_place(|| deployment.redis.flushall());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_killed_and_back_empty_loses_no_payment_and_pays_none_twice() {
    run("Redis killed, and started empty", async |deployment| {
        block_in_place(|| {
            deployment.redis.kill9();
            deployment.redis.start_again();
        });
    })
    .await;
}
