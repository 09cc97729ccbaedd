//! Business transactions write an intent each, and half of them are rolled back, while workers are killed: what committed is
//! paid once, and nothing else is paid.

use std::{
    collections::BTreeSet,
    pin::pin,
    time::{Duration, Instant},
};

use futures::{StreamExt as _, stream};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, TransactionTrait};
use tender::outbox;
use tokio::task::block_in_place;

use crate::{
    client::Payment,
    deployment::{Deployment, TENANT},
};

const TRANSACTIONS: u32 = 1_000;
/// Transactions under way at once.
const AT_ONCE: usize = 8;
/// Transactions to each kill.
const WAVE: usize = 25;
const WORKERS: usize = 2;
const CHANNELS: u32 = 60;
const PATIENCE: Duration = Duration::from_secs(120);

/// Books a payment and asks for it, within one transaction: half of them as Rust callers do, half in plain SQL.
async fn book(db: &DatabaseConnection, payment: Payment, commits: bool) {
    let tx = db.begin().await.unwrap();
    let (number, key) = (payment.number, payment.key());
    tx.execute_unprepared(&format!("INSERT INTO booking VALUES ({number})"))
        .await
        .unwrap();
    let request = payment.request();
    if number % 2 == 0 {
        outbox::enqueue(&tx, TENANT, key.as_str(), &request)
            .await
            .unwrap();
    } else {
        let sql = format!(
            "INSERT INTO outbox (tenant, idempotency_key, payload) VALUES ('{TENANT}', '{}', '{request}')",
            key.as_str()
        );
        tx.execute_unprepared(&sql).await.unwrap();
    }
    if commits {
        tx.commit().await.unwrap();
    } else {
        tx.rollback().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_thousand_transactions_those_that_commit_are_paid_although_workers_are_killed() {
    let deployment = Deployment::start(CHANNELS).await;
    let _reconcilers = deployment.reconcilers(1);
    let mut workers = deployment.workers(WORKERS);
    let db = Database::connect(&deployment.database).await.unwrap();
    let table = "CREATE TABLE booking (number BIGINT PRIMARY KEY)";
    db.execute_unprepared(table).await.unwrap();
    let seed: u64 = rand::random();
    let mut chance = StdRng::seed_from_u64(seed);
    let payments = deployment.payments(0..TRANSACTIONS);
    let plan: Vec<_> = payments
        .into_iter()
        .map(|payment| (payment, chance.random_bool(0.5)))
        .collect();
    let committed: Vec<_> = plan.iter().filter(|it| it.1).map(|it| it.0).collect();
    let began = Instant::now();
    let mut kills = 0;
    for wave in plan.chunks(WAVE) {
        let (mut ended, strike) = (0, chance.random_range(1..=wave.len()));
        let booked = stream::iter(wave).map(|(payment, commits)| book(&db, *payment, *commits));
        let mut booked = pin!(booked.buffer_unordered(AT_ONCE));
        let victim = &mut workers[kills % WORKERS];
        while let Some(()) = booked.next().await {
            ended += 1;
            if ended == strike {
                block_in_place(|| victim.kill9());
                *victim = deployment.launch(&["worker"]).start();
                kills += 1;
            }
        }
        // It has its share before it is its turn again.
        block_in_place(|| victim.wait_for_line("worker is ready"));
    }
    let rows = u64::try_from(committed.len()).unwrap();
    deployment.confirmed(rows, PATIENCE).await;
    println!(
        "seed {seed}: {rows} of {TRANSACTIONS} transactions committed, {kills} kills, all confirmed after {:.1?}",
        began.elapsed()
    );
    println!("{:?}", deployment.assert_paid_once(&committed).await);
    let settled = deployment.postgres.psql(
        &deployment.database,
        "SELECT number FROM booking JOIN outbox ON idempotency_key = 'payment-' || number WHERE state = 'accepted'",
    );
    let settled: BTreeSet<u32> = settled.lines().map(|line| line.parse().unwrap()).collect();
    let expected: BTreeSet<_> = committed.iter().map(|payment| payment.number).collect();
    assert_eq!(settled, expected);
    let sql = "SELECT count(*) FROM outbox";
    let count = deployment.postgres.psql(&deployment.database, sql);
    assert_eq!(count, rows.to_string(), "a row was left behind");
}
