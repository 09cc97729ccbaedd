//! The feed gets due rows in order, a bounded window at a time, and gets back what the queue lost.

use std::time::Duration;

use tender::domain::key::JobId;
use tender::domain::schedule::Priority;
use tender::domain::submission::Event;
use tender::ledger::{Dispatch, Ledger};

use crate::bed::{Bed, RULES, new};

/// Nothing is pushed again that fast.
const LATER: Duration = Duration::from_secs(3600);
const AT_ONCE: Duration = Duration::ZERO;

async fn take(ledger: &Ledger, window: u64, again: Duration) -> Vec<Dispatch> {
    ledger.take_due(window, again).await.unwrap()
}

/// Accepts rows one millisecond apart, the first being the oldest.
async fn rows(bed: &Bed, count: usize) -> Vec<tender::ledger::Submission> {
    let mut rows = Vec::new();
    for n in 0..count {
        let row = bed.accept(&format!("key-{n}")).await;
        bed.sql(&format!(
            "UPDATE submission_ledger SET created_at = {} WHERE idempotency_key = 'key-{n}'",
            1000 + n
        ))
        .await;
        rows.push(row);
    }
    rows
}

async fn the_oldest_come_first_and_the_window_holds(bed: Bed) {
    bed.channels(10).await;
    let rows = rows(&bed, 6).await;
    let ids = |dispatches: Vec<Dispatch>| {
        dispatches
            .into_iter()
            .map(|dispatch| dispatch.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ids(take(&bed.ledger, 2, LATER).await),
        [rows[0].id, rows[1].id]
    );
    assert_eq!(ids(take(&bed.ledger, 2, LATER).await), []);
    assert_eq!(ids(take(&bed.ledger, 3, LATER).await), [rows[2].id]);
    // A row that was claimed makes room; the next in order takes it.
    bed.claim(rows[1].id).await;
    assert_eq!(ids(take(&bed.ledger, 3, LATER).await), [rows[3].id]);
    assert_eq!(ids(take(&bed.ledger, 0, LATER).await), []);
    assert_eq!(
        ids(take(&bed.ledger, 100, LATER).await),
        [rows[4].id, rows[5].id]
    );
}

async fn lanes_are_apart(bed: Bed) {
    bed.channels(10).await;
    for (lane, name) in Priority::ALL.into_iter().zip(["urgent", "normal", "slow"]) {
        for n in 0..3 {
            let mut row = new(&format!("{name}-{n}"));
            row.priority = lane;
            bed.ledger.accept(row).await.unwrap();
        }
    }
    // Each lane has a window of its own.
    let taken = take(&bed.ledger, 2, LATER).await;
    let lanes: Vec<_> = taken.iter().map(|dispatch| dispatch.priority).collect();
    let [urgent, normal, slow] = Priority::ALL;
    assert_eq!(lanes, [urgent, urgent, normal, normal, slow, slow]);
}

async fn only_due_rows_are_taken(bed: Bed) {
    bed.channels(1).await;
    let row = bed.accept("key").await;
    // A claim that lapses once says nothing about the row; the second time it backs off.
    let claim = bed.claim(row.id).await;
    bed.apply(&claim.submission, Event::ClaimLapsed).await;
    let claim = bed.claim(row.id).await;
    let row = bed.apply(&claim.submission, Event::ClaimLapsed).await;
    assert!(row.next_attempt_at > bed.ledger.now().await.unwrap());
    assert_eq!(take(&bed.ledger, 10, LATER).await.len(), 0);
    bed.sql("UPDATE submission_ledger SET next_attempt_at = 0")
        .await;
    assert_eq!(take(&bed.ledger, 10, LATER).await.len(), 1);
}

async fn what_the_queue_lost_comes_again_under_the_same_job(bed: Bed) {
    bed.channels(2).await;
    let rows = rows(&bed, 2).await;
    let jobs = |dispatches: &[Dispatch]| {
        dispatches
            .iter()
            .map(|dispatch| dispatch.job.clone())
            .collect::<Vec<_>>()
    };
    let first = take(&bed.ledger, 10, LATER).await;
    let expected: Vec<_> = rows
        .iter()
        .map(|row| JobId::of(&row.tenant, &row.key, 1))
        .collect();
    assert_eq!(jobs(&first), expected);
    assert_eq!(
        jobs(&take(&bed.ledger, 10, AT_ONCE).await),
        expected,
        "the queue rejects what it still has"
    );
    assert_eq!(bed.row(rows[0].id).await.round, 1);
    // Back to pending after it ran: the next round is another job.
    let claim = bed.claim(rows[0].id).await;
    bed.apply(&claim.submission, Event::Deferred).await;
    let next = take(&bed.ledger, 10, LATER).await;
    assert_eq!(jobs(&next), [JobId::of(&rows[0].tenant, &rows[0].key, 2)]);
    // A claimed row is not pushed any more.
    bed.claim(rows[1].id).await;
    let again = take(&bed.ledger, 10, AT_ONCE).await;
    assert!(
        again.iter().all(|dispatch| dispatch.id == rows[0].id),
        "{again:?}"
    );
}

async fn feeds_of_many_processes_share_one_window(bed: Bed) {
    bed.channels(60).await;
    for n in 0..60 {
        bed.accept(&format!("key-{n}")).await;
    }
    let ledgers = [
        bed.ledger.clone(),
        bed.another(RULES).await,
        bed.another(RULES).await,
    ];
    let feeds: Vec<_> = (0..12)
        .map(|n| {
            let ledger = ledgers[n % 3].clone();
            tokio::spawn(async move { take(&ledger, 20, LATER).await.len() })
        })
        .collect();
    let mut taken = 0;
    for feed in feeds {
        taken += feed.await.unwrap();
    }
    assert_eq!(taken, 20);
}

on_both!(
    the_oldest_come_first_and_the_window_holds,
    lanes_are_apart,
    only_due_rows_are_taken,
    what_the_queue_lost_comes_again_under_the_same_job,
    feeds_of_many_processes_share_one_window,
);
