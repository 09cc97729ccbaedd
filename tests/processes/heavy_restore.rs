//! The database is set back in the middle of 500 payments, by a copy of its files or by a replica that takes over, and all
//! 500 are pushed again.

use std::time::{Duration, Instant};

use tender::domain::memory::MemoryState;
use tokio::task::block_in_place;

use crate::{
    deployment::Deployment,
    waiting::{until, when},
};

const PAYMENTS: u32 = 500;
const CLIENTS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until the ledger knows how long it has to wait, has that time go by, and recovers what was forgotten.
async fn recovered(deployment: &Deployment) -> Vec<String> {
    until("the end of the wait", PATIENCE, async || {
        let memory = deployment.ledger.memory().await.unwrap();
        when(memory.resume_after.is_some(), memory)
    })
    .await;
    let memory = deployment.ledger.memory().await.unwrap();
    let after = memory.resume_after.unwrap() + 1;
    deployment.node.close_ledger_at(after);
    stands(deployment, MemoryState::Held).await;
    deployment.command(&["recover"])
}

/// Waits until the ledger's memory is in that state.
async fn stands(deployment: &Deployment, state: MemoryState) {
    until("the ledger's memory", PATIENCE, async || {
        let memory = deployment.ledger.memory().await;
        let now = memory.as_ref().ok().map(|memory| memory.state);
        when(now == Some(state), memory.ok())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_set_back_in_the_middle_of_500_payments_pays_none_of_them_twice() {
    let mut deployment = Deployment::start(24).await;
    let payments = deployment.payments(0..PAYMENTS);
    let api = deployment.api();
    let others = (deployment.workers(2), deployment.reconcilers(2));
    // Of half of them the copy knows, and of some of those that they were paid.
    let (known, gone) = payments.split_at(payments.len() / 2);
    let load = deployment.load(&api, known.to_vec(), 1, CLIENTS).start();
    load.done().await;
    deployment
        .confirmed(u64::from(PAYMENTS / 4), PATIENCE)
        .await;
    block_in_place(|| {
        deployment.postgres.stop();
        deployment.postgres.back_up();
        deployment.postgres.start_again();
    });
    let load = deployment.load(&api, gone.to_vec(), 1, CLIENTS).start();
    load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    drop((api, others));

    block_in_place(|| {
        deployment.postgres.stop();
        deployment.postgres.put_back();
        deployment.postgres.start_again();
    });
    // Nothing but the chain knows better.
    deployment.redis.flushall();
    deployment.ledger = deployment.another_ledger().await;
    let before = deployment.counts().await;
    let began = Instant::now();
    let api = deployment.api();
    let _others = (deployment.workers(2), deployment.reconcilers(2));
    let load = deployment.load(&api, payments.clone(), 1, CLIENTS).start();
    stands(&deployment, MemoryState::Lost).await;
    let tally = load.done().await;
    let noticed = began.elapsed();

    let early = block_in_place(|| deployment.launch(&["recover"]).run());
    assert_eq!(
        early.status.code(),
        Some(1),
        "the window is not over: {early:?}"
    );
    let told = recovered(&deployment).await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let figures = deployment.assert_paid_once(&payments).await;
    println!("rows in the copy: {before:?}; answers {:?}", tally.answers);
    println!(
        "noticed and pushed again within {noticed:.1?}; {}",
        told.last().unwrap()
    );
    println!("{figures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_replica_that_lagged_and_took_over_pays_none_of_500_twice() {
    let mut deployment = Deployment::start(24).await;
    let payments = deployment.payments(0..PAYMENTS);
    let api = deployment.api();
    let _others = (deployment.workers(2), deployment.reconcilers(2));
    // The replica follows half of them, and then it is cut off.
    let (followed, gone) = payments.split_at(payments.len() / 2);
    let replica = block_in_place(|| deployment.postgres.follow());
    let load = deployment.load(&api, followed.to_vec(), 1, CLIENTS).start();
    load.done().await;
    deployment
        .confirmed(u64::from(PAYMENTS / 4), PATIENCE)
        .await;
    let url = replica.url(&deployment.database, &deployment.postgres);
    until("a replica that follows", PATIENCE, async || {
        let sql = "SELECT count(*) FROM submission_ledger WHERE status = 'confirmed'";
        let confirmed: u32 = deployment.postgres.psql(&url, sql).parse().unwrap();
        when(confirmed >= PAYMENTS / 4, confirmed)
    })
    .await;
    block_in_place(|| replica.stop());
    let load = deployment.load(&api, gone.to_vec(), 1, CLIENTS).start();
    load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;

    block_in_place(|| {
        deployment.postgres.kill9();
        deployment.postgres.fail_over();
    });
    deployment.ledger = deployment.another_ledger().await;
    let before = deployment.counts().await;
    let began = Instant::now();
    stands(&deployment, MemoryState::Lost).await;
    let noticed = began.elapsed();
    let load = deployment.load(&api, payments.clone(), 1, CLIENTS).start();
    let tally = load.done().await;
    let told = recovered(&deployment).await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let figures = deployment.assert_paid_once(&payments).await;
    println!(
        "rows in the replica: {before:?}; answers {:?}",
        tally.answers
    );
    println!("noticed after {noticed:.1?}; {}", told.last().unwrap());
    println!("{figures:?}");
}
