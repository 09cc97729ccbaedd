//! PostgreSQL crashes and recovers while payments are pushed and paid.

use std::time::{Duration, Instant};

use tokio::task::block_in_place;

use crate::{
    deployment::Deployment,
    waiting::{until, when},
};

const PAYMENTS: u32 = 240;
const CLIENTS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crash_of_postgres_loses_nothing_accepted_and_pays_nothing_twice() {
    let mut deployment = Deployment::start(12).await;
    let mut api = deployment.api();
    let mut others = deployment.workers(2);
    others.extend(deployment.reconcilers(2));
    let payments = deployment.payments(0..PAYMENTS);
    let began = Instant::now();
    let load = deployment.load(&api, payments.clone(), 2, CLIENTS).start();
    let mut outages = Vec::new();
    for third in 1..3 {
        until("pushes to be accepted", PATIENCE, async || {
            let accepted = load.so_far().accepted();
            when(accepted >= u64::from(third * PAYMENTS / 3), accepted)
        })
        .await;
        let down = Instant::now();
        let before = load.so_far();
        block_in_place(|| deployment.postgres.kill9());
        until("a caller to notice", PATIENCE, async || {
            let now = load.so_far();
            when(now.put_off() > before.put_off(), now.answers)
        })
        .await;
        block_in_place(|| deployment.postgres.start_again());
        let counts = deployment.counts().await;
        outages.push((before.accepted(), down.elapsed(), counts));
    }
    let tally = load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let took = began.elapsed();
    let figures = deployment.assert_paid_once(&payments).await;
    assert_eq!(tally.ids.len(), payments.len());
    let known = [0, 200, 202, 503];
    assert!(
        tally.answers.keys().all(|status| known.contains(status)),
        "{:?}",
        tally.answers
    );
    println!("crashes (pushes accepted before, outage, rows after): {outages:?}");
    println!(
        "answers {:?}; all confirmed after {took:.1?}; {figures:?}",
        tally.answers
    );
    assert!(api.process.is_running());
    assert!(
        others
            .iter_mut()
            .all(super::support::process::Process::is_running)
    );
}
