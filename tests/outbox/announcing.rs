//! PostgreSQL announces what was written, so that it need not wait for the relay's next look.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::bed::Bed;
use crate::table::{Caller, NEVER, accepted, relay};
use crate::waiting::{until, when};

const PATIENCE: Duration = Duration::from_secs(60);
/// More than the two looks that a relay takes by itself: at its start, and when it begins to listen.
const ROWS: usize = 6;
const LISTENERS: &str = "FROM pg_stat_activity \
     WHERE query LIKE 'LISTEN%' AND datname = current_database() AND pid <> pg_backend_pid()";

/// A relay at work. Ends when told to.
fn start(bed: &Bed) -> (tokio::task::JoinHandle<()>, CancellationToken) {
    let (shutdown, (relay, _told)) = (CancellationToken::new(), relay(&bed.ledger));
    let stop = shutdown.clone();
    let running = tokio::spawn(async move { relay.run(&stop).await });
    (running, shutdown)
}

/// Writes rows one after the other, each when the one before was taken in. The relay looks once a day.
async fn written_one_by_one(caller: &Caller, from: usize) {
    assert!(NEVER > PATIENCE);
    for number in from..from + ROWS {
        caller.pays(&format!("key-{number}"), 1).await;
        until("an intent to be taken in", PATIENCE, async || {
            let outcomes = caller.outcomes().await;
            when(outcomes == vec![accepted(); number + 1], outcomes.last())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_wakes_the_relay_also_after_its_connection_was_cut() {
    let bed = Bed::postgres().await;
    let caller = Caller::of(&bed).await;
    let (running, shutdown) = start(&bed);
    written_one_by_one(&caller, 0).await;
    let cut = format!("SELECT count(pg_terminate_backend(pid)) {LISTENERS}");
    assert_eq!(bed.number(&cut).await, 1);
    until("the relay to listen again", PATIENCE, async || {
        let listeners = bed.number(&format!("SELECT count(*) {LISTENERS}")).await;
        when(listeners == 1, listeners)
    })
    .await;
    written_one_by_one(&caller, ROWS).await;
    shutdown.cancel();
    running.await.unwrap();
}

/// Commits that announce wait for each other, so of those under way at once one does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_transactions_side_by_side_one_announces() {
    use sea_orm::{ConnectionTrait, TransactionTrait, sqlx::postgres::PgListener};
    let bed = Bed::postgres().await;
    let mut listener = PgListener::connect(&bed.url).await.unwrap();
    listener.listen("tender_outbox").await.unwrap();
    let insert = "INSERT INTO outbox (tenant, payload) VALUES ('acme', '{}')";
    let raw = bed.raw().await;
    let slow = raw.begin().await.unwrap();
    slow.execute_unprepared(insert).await.unwrap();
    let quick = raw.begin().await.unwrap();
    quick.execute_unprepared(insert).await.unwrap();
    quick.commit().await.unwrap();
    slow.commit().await.unwrap();
    bed.sql("NOTIFY tender_outbox, 'the end'").await;
    let mut heard = Vec::new();
    while heard.last().is_none_or(String::is_empty) {
        heard.push(listener.recv().await.unwrap().payload().to_owned());
    }
    assert_eq!(heard, ["", "the end"]);
}

/// Nothing depends on announcements: SQLite has none, and there the period is all there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_is_announced_the_period_is_enough() {
    use std::sync::Arc;
    use tender::{flow::relay::Relay, metrics::Metrics};
    let bed = Bed::sqlite().await;
    let caller = Caller::of(&bed).await;
    let metrics = Arc::new(Metrics::new().unwrap());
    let relay = Relay::new(
        bed.ledger.clone(),
        metrics,
        Arc::default(),
        Duration::from_millis(10),
    );
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let running = tokio::spawn(async move { relay.run(&stop).await });
    written_one_by_one(&caller, 0).await;
    shutdown.cancel();
    running.await.unwrap();
}
