//! PostgreSQL crashes and recovers while payments are pushed and paid.

use std::time::{Duration, Instant};

use tokio::task::block_in_place;

use crate::deployment::Deployment;

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
    let (load, pushed) = deployment.load(&api, payments.clone(), 2, CLIENTS).start();
    let mut outages = Vec::new();
    for third in 1..3 {
        deployment.confirmed(u64::from(third * PAYMENTS / 3), PATIENCE).await;
        let accepted = pushed.load(std::sync::atomic::Ordering::Relaxed);
        let down = Instant::now();
        block_in_place(|| {
            deployment.postgres.kill9();
            deployment.postgres.start_again();
        });
        outages.push((accepted, down.elapsed()));
    }
    let tally = load.await.unwrap();
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let took = began.elapsed();
    let figures = deployment.assert_paid_once(&payments).await;
    assert_eq!(tally.ids.len(), payments.len());
    let known = [0, 200, 202, 503];
    assert!(tally.answers.keys().all(|status| known.contains(status)), "{:?}", tally.answers);
    println!("crashes (pushes accepted before, outage): {outages:?}");
    println!("answers {:?}; all confirmed after {took:.1?}; {figures:?}", tally.answers);
    assert!(api.process.is_running());
    assert!(others.iter_mut().all(|process| process.is_running()));
}
