//! A row that was put off runs when it is due: the feed sleeps until then, not for its period.

use std::collections::HashSet;
use std::time::Duration;

use tender::domain::submission::Event;
use tender::flow::feed::{Feed, FeedSettings};
use tender::ledger::{Ledger, Submission};
use tender::queue::Queue;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::bed::Bed;

/// Nobody waits for the feed's period.
const PERIOD: Duration = Duration::from_secs(3600);
const PATIENCE: Duration = Duration::from_secs(60);

fn feed(ledger: &Ledger, queue: &Queue) -> Feed {
    let settings = FeedSettings {
        window: 10,
        redispatch_after: PERIOD,
        period: PERIOD,
    };
    Feed::new(ledger.clone(), queue.clone(), settings)
}

/// A row that is put off for so long, in milliseconds by the database's clock.
async fn put_off(bed: &Bed, key: &str, millis: i64) -> Submission {
    let row = bed.accept(key).await;
    let due = bed.ledger.now().await.unwrap() + millis;
    bed.sql(&format!(
        "UPDATE submission_ledger SET next_attempt_at = {due} WHERE idempotency_key = '{key}'"
    ))
    .await;
    bed.row(row.id).await
}

/// What the ledger or the feed says must be the time to that row, which passes while it is asked.
async fn assert_until(bed: &Bed, row: &Submission, ask: impl AsyncFnOnce() -> Duration) {
    let before = bed.ledger.now().await.unwrap();
    let told = i64::try_from(ask().await.as_millis()).unwrap();
    let after = bed.ledger.now().await.unwrap();
    let due = row.next_attempt_at;
    assert!(
        (due - after..=due - before).contains(&told),
        "{told} ms to {due}, asked between {before} and {after}"
    );
}

async fn the_next_due_time_is_that_of_the_first_row_put_off(bed: Bed) {
    const MINUTE: i64 = 60_000;
    bed.channels(4).await;
    let next = async || bed.ledger.next_due().await.unwrap();
    assert_eq!(next().await, None);
    bed.accept("due").await;
    put_off(&bed, "due-again", -1).await;
    assert_eq!(next().await, None, "rows that are due need no clock");
    let late = put_off(&bed, "late", 40 * MINUTE).await;
    assert_until(&bed, &late, async || next().await.unwrap()).await;
    let early = put_off(&bed, "early", 20 * MINUTE).await;
    assert_until(&bed, &early, async || next().await.unwrap()).await;
    bed.sql("UPDATE submission_ledger SET dispatched_at = 0 WHERE idempotency_key = 'early'")
        .await;
    assert_until(&bed, &late, async || next().await.unwrap()).await;
    bed.sql("UPDATE submission_ledger SET next_attempt_at = 0 WHERE idempotency_key = 'late'")
        .await;
    assert_eq!(next().await, None, "no other row waits for a time");
}

async fn the_feed_plans_to_wake_when_the_next_row_is_due(bed: Bed) {
    bed.channels(1).await;
    let feed = feed(&bed.ledger, &Queue::memory());
    assert_eq!(feed.rest().await, PERIOD);
    let row = bed.accept("key").await;
    // A claim that lapses once says nothing about the row; the second time it backs off.
    let claim = bed.claim(row.id).await;
    bed.apply(&claim.submission, Event::ClaimLapsed).await;
    let claim = bed.claim(row.id).await;
    bed.apply(&claim.submission, Event::ClaimLapsed).await;
    bed.sql("UPDATE submission_ledger SET next_attempt_at = next_attempt_at + 600000")
        .await;
    let row = bed.row(row.id).await;
    assert_until(&bed, &row, async || feed.rest().await).await;
}

async fn a_row_that_was_put_off_runs_although_nobody_nudges(bed: Bed) {
    bed.channels(3).await;
    let (queue, shutdown) = (Queue::memory(), CancellationToken::new());
    let (start, mut starts) = mpsc::unbounded_channel();
    let mut waiting = HashSet::new();
    for (n, delay) in [200, 400, 600].into_iter().enumerate() {
        waiting.insert(put_off(&bed, &format!("key-{n}"), delay).await.id);
    }
    let (worker, stop) = (queue.clone(), shutdown.clone());
    let working = tokio::spawn(async move {
        let handler = move |job: tender::queue::Job| {
            start.send(job.submission).unwrap();
            async {}
        };
        worker.work(3, handler, stop).await
    });
    let (feed, stop) = (feed(&bed.ledger, &queue), shutdown.clone());
    let feeding = tokio::spawn(async move { feed.run(&Notify::new(), &stop).await });
    let mut ran = HashSet::new();
    for _ in 0..waiting.len() {
        let started = timeout(PATIENCE, starts.recv()).await;
        ran.insert(started.expect("it runs when it is due").unwrap());
    }
    // On a slow machine two come due in one round, and their workers start as they like.
    assert_eq!(ran, waiting);
    shutdown.cancel();
    feeding.await.unwrap();
    working.await.unwrap().unwrap();
}

on_both!(
    the_next_due_time_is_that_of_the_first_row_put_off,
    the_feed_plans_to_wake_when_the_next_row_is_due,
    a_row_that_was_put_off_runs_although_nobody_nudges,
);
