//! How far the reconcilers are, and who is told of rows that end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tender::domain::schedule::Priority;
use tender::domain::submission::{Event, Status};
use tender::ledger::{Backlog, NewSubmission, Pass, Submission};

use crate::bed::Bed;

const PASS: Pass = Pass {
    ledger: 7,
    close_time: 1_800_000_000,
    period: Duration::from_millis(250),
};

async fn the_last_pass_is_what_others_see(bed: Bed) {
    assert_eq!(bed.ledger.progress().await.unwrap(), None);
    bed.ledger.note_progress(PASS).await.unwrap();
    let later = Pass { ledger: 8, ..PASS };
    bed.another(crate::bed::RULES)
        .await
        .note_progress(later)
        .await
        .unwrap();
    let progress = bed.ledger.progress().await.unwrap().unwrap();
    assert_eq!(progress.pass, later);
    assert!(progress.age < Duration::from_secs(60), "{progress:?}");
    assert_eq!((progress.leases, progress.stillest), (0, None));
    assert_eq!(progress.out_of_reach, 0);
    let rows = bed.number("SELECT count(*) FROM reconciler_progress").await;
    assert_eq!(rows, 1, "one row, however often and whoever notes");
}

async fn its_age_is_told_by_the_clock_of_the_database(bed: Bed) {
    bed.ledger.note_progress(PASS).await.unwrap();
    bed.sql("UPDATE reconciler_progress SET passed_at = passed_at - 3600000")
        .await;
    let progress = bed.ledger.progress().await.unwrap().unwrap();
    assert!(progress.age >= Duration::from_secs(3600), "{progress:?}");
    bed.sql("UPDATE reconciler_progress SET passed_at = passed_at + 7200000")
        .await;
    let progress = bed.ledger.progress().await.unwrap().unwrap();
    assert_eq!(progress.age, Duration::ZERO, "the clock was set back");
}

async fn leases_are_counted_and_the_stillest_is_told(bed: Bed) {
    bed.channels(2).await;
    bed.ledger.note_progress(PASS).await.unwrap();
    let (old, _young) = (bed.confirming("old").await, bed.confirming("young").await);
    bed.accept("holds-no-pair").await;
    bed.sql(&format!(
        "UPDATE submission_ledger SET updated_at = updated_at - 60000 WHERE idempotency_key = '{}'",
        old.key.as_str()
    ))
    .await;
    let progress = bed.ledger.progress().await.unwrap().unwrap();
    assert_eq!(progress.leases, 2);
    let stillest = progress.stillest.unwrap();
    assert!(stillest >= Duration::from_secs(60), "{progress:?}");
}

async fn the_oldest_due_row_of_each_priority_is_told(bed: Bed) {
    assert_eq!(bed.ledger.backlog().await.unwrap(), Backlog::default());
    for (key, priority) in [("low", Priority::Low), ("urgent", Priority::Critical)] {
        let new = NewSubmission {
            priority,
            ..crate::bed::new(key)
        };
        bed.ledger.accept(new).await.unwrap();
    }
    for (key, due) in [("low", -3_600_000), ("later", 3_600_000)] {
        if key == "later" {
            bed.accept(key).await;
        }
        bed.sql(&format!(
            "UPDATE submission_ledger SET next_attempt_at = next_attempt_at + {due} WHERE idempotency_key = '{key}'"
        ))
        .await;
    }
    let oldest = bed.ledger.backlog().await.unwrap().oldest_due;
    let priorities: Vec<_> = oldest.iter().map(|(priority, _)| *priority).collect();
    assert_eq!(
        priorities,
        [Priority::Critical, Priority::Low],
        "the third is not due"
    );
    assert!(oldest[0].1 < Duration::from_secs(60), "{oldest:?}");
    assert!(oldest[1].1 >= Duration::from_secs(3_600), "{oldest:?}");
}

async fn a_row_with_the_network_is_stuck_once_no_envelope_can_live(bed: Bed) {
    bed.channels(2).await;
    let (old, young) = (bed.confirming("old").await, bed.confirming("young").await);
    bed.accept("holds-no-pair").await;
    bed.sql(&format!(
        "UPDATE submission_ledger SET updated_at = updated_at - 661000 WHERE idempotency_key <> '{}'",
        young.key.as_str()
    ))
    .await;
    assert_eq!(bed.ledger.backlog().await.unwrap().stuck, 1);
    bed.sql(&format!(
        "UPDATE submission_ledger SET updated_at = updated_at + 60000 WHERE idempotency_key = '{}'",
        old.key.as_str()
    ))
    .await;
    assert_eq!(
        bed.ledger.backlog().await.unwrap().stuck,
        0,
        "it may still land"
    );
}

async fn an_observer_is_told_once_of_every_row_that_ends(mut bed: Bed) {
    bed.channels(1).await;
    let ended = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&ended);
    bed.ledger = bed.ledger.observed_by(Arc::new(move |row: &Submission| {
        told.lock().unwrap().push((row.id, row.state.status));
    }));
    let row = bed.accept("taken-back").await;
    bed.confirming("goes-on").await;
    assert_eq!(*ended.lock().unwrap(), []);
    bed.apply(&row, Event::Cancelled).await;
    let again = tender::ledger::Change::new(&row, Event::Cancelled, "test");
    bed.ledger.apply(again).await.unwrap();
    assert_eq!(*ended.lock().unwrap(), [(row.id, Status::Cancelled)]);
}

on_both!(
    the_last_pass_is_what_others_see,
    its_age_is_told_by_the_clock_of_the_database,
    leases_are_counted_and_the_stillest_is_told,
    the_oldest_due_row_of_each_priority_is_told,
    a_row_with_the_network_is_stuck_once_no_envelope_can_live,
    an_observer_is_told_once_of_every_row_that_ends,
);
