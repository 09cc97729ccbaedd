//! The feed dispatches what can run: holders of pairs first, then as many others as there are free channels, urgent
//! ones first, and nothing beyond the cap.

use std::time::Duration;

use tender::domain::schedule::Priority::{self, Critical, Low, Normal};
use tender::domain::submission::{Event, Gap, Status};
use tender::flow::feed::{Feed, FeedSettings};
use tender::ledger::{ClaimOutcome, Ledger, Rules, Submission};
use tender::queue::Queue;

use crate::bed::{Bed, RULES, accepted, new, transient};

const WINDOW: u64 = 4;

fn feed(ledger: &Ledger) -> Feed {
    let settings = FeedSettings {
        window: WINDOW,
        redispatch_after: Duration::from_secs(3600),
        period: Duration::from_secs(3600),
    };
    Feed::new(ledger.clone(), Queue::memory(), settings)
}

/// Accepts rows of a lane, one after the other.
async fn accept(bed: &Bed, lane: Priority, keys: &[&str]) -> Vec<Submission> {
    let mut rows = Vec::new();
    for key in keys {
        let mut row = new(key);
        row.priority = lane;
        rows.push(accepted(bed.ledger.accept(row).await.unwrap()));
    }
    rows
}

/// A row that is pending and due, and holds the pair of an envelope that is proven dead.
async fn holder(bed: &Bed, key: &str) -> Submission {
    let row = bed.confirming(key).await;
    let dead = Event::ProvenDead(transient(), Gap::None);
    let row = bed.apply(&row, dead).await;
    assert!(row.state.holds_pair);
    bed.sql("UPDATE submission_ledger SET next_attempt_at = 0")
        .await;
    row
}

/// The keys among those that are dispatched and pending.
async fn dispatched<'a>(bed: &Bed, rows: &'a [Submission]) -> Vec<&'a str> {
    let mut keys = Vec::new();
    for row in rows {
        let key = row.key.as_str();
        let out = bed
            .number(&format!(
                "SELECT count(*) FROM submission_ledger WHERE idempotency_key = '{key}' \
                 AND status = 'pending' AND dispatched_at IS NOT NULL"
            ))
            .await;
        if out == 1 {
            keys.push(key);
        }
    }
    keys
}

/// Whoever was dispatched runs: those that find a channel are paid. Answers who was.
async fn run_dispatched(bed: &Bed, rows: &[Submission]) -> Vec<String> {
    let mut paid = Vec::new();
    for key in dispatched(bed, rows).await {
        let row = rows.iter().find(|row| row.key.as_str() == key).unwrap();
        match bed.ledger.claim(row.id).await.unwrap() {
            ClaimOutcome::Claimed(claim) => {
                let row = bed.record(&claim).await;
                bed.apply(&row, Event::Succeeded).await;
                paid.push(key.to_owned());
            }
            ClaimOutcome::NoChannel => {}
            ClaimOutcome::NotDue | ClaimOutcome::Paid(..) => panic!("{key} is due"),
        }
    }
    paid
}

async fn holders_of_all_channels_are_not_starved_by_older_rows(bed: Bed) {
    bed.channels(2).await;
    let mut rows = vec![holder(&bed, "held-0").await, holder(&bed, "held-1").await];
    rows.extend(accept(&bed, Normal, &["a", "b", "c", "d", "e"]).await);
    // The holders are the youngest: a backlog had waited when they were accepted.
    bed.sql("UPDATE submission_ledger SET created_at = created_at + 60000 WHERE pair_held")
        .await;
    let feed = feed(&bed.ledger);
    feed.run_once().await.unwrap();
    assert_eq!(
        dispatched(&bed, &rows).await,
        ["held-0", "held-1"],
        "no channel is free: the others would only be handed back"
    );
    let mut paid = Vec::new();
    for _ in 0..4 {
        paid.extend(run_dispatched(&bed, &rows).await);
        feed.run_once().await.unwrap();
    }
    assert_eq!(paid.len(), rows.len(), "{paid:?}");
}

async fn holders_do_not_count_against_the_window(bed: Bed) {
    bed.channels(20).await;
    let mut rows = Vec::new();
    for n in 0..WINDOW + 2 {
        rows.push(holder(&bed, &format!("held-{n}")).await);
    }
    let others = ["a", "b", "c", "d", "e", "f"];
    rows.extend(accept(&bed, Normal, &others).await);
    let feed = feed(&bed.ledger);
    for _ in 0..2 {
        feed.run_once().await.unwrap();
        let dispatched = dispatched(&bed, &rows).await;
        let (held, others): (Vec<&str>, Vec<&str>) = dispatched
            .into_iter()
            .partition(|key| key.starts_with("held"));
        assert_eq!(held.len() as u64, WINDOW + 2);
        assert_eq!(others, ["a", "b", "c", "d"], "the window holds for them");
    }
}

async fn free_channels_are_shared_the_most_urgent_lane_first(bed: Bed) {
    bed.channels(3).await;
    let mut rows = accept(&bed, Low, &["low-0", "low-1"]).await;
    rows.extend(accept(&bed, Normal, &["normal-0", "normal-1"]).await);
    rows.extend(accept(&bed, Critical, &["critical-0", "critical-1"]).await);
    let feed = feed(&bed.ledger);
    for _ in 0..2 {
        feed.run_once().await.unwrap();
        assert_eq!(
            dispatched(&bed, &rows).await,
            ["normal-0", "critical-0", "critical-1"]
        );
    }
}

async fn jobs_that_wait_do_not_keep_an_urgent_row_back(bed: Bed) {
    bed.channels(1).await;
    let mut rows = accept(&bed, Low, &["low"]).await;
    let feed = feed(&bed.ledger);
    feed.run_once().await.unwrap();
    assert_eq!(dispatched(&bed, &rows).await, ["low"]);
    rows.extend(accept(&bed, Critical, &["critical"]).await);
    feed.run_once().await.unwrap();
    assert_eq!(dispatched(&bed, &rows).await, ["low", "critical"]);
}

async fn at_the_cap_nothing_is_dispatched_until_there_is_room(bed: Bed) {
    const CAPPED: Rules = Rules {
        max_in_flight: Some(1),
        ..RULES
    };
    bed.channels(5).await;
    let mut rows = vec![holder(&bed, "held-0").await, holder(&bed, "held-1").await];
    let flying = bed.confirming("flying").await;
    rows.extend(accept(&bed, Critical, &["a", "b"]).await);
    let feed = feed(&bed.another(CAPPED).await);
    for _ in 0..3 {
        assert_eq!(feed.run_once().await.unwrap(), 0);
    }
    for row in &rows {
        assert_eq!(bed.row(row.id).await.round, row.round, "{:?}", row.key);
    }
    let landed = bed.apply(&flying, Event::Succeeded).await;
    assert_eq!(landed.state.status, Status::Confirmed);
    for _ in 0..3 {
        feed.run_once().await.unwrap();
        assert_eq!(dispatched(&bed, &rows).await, ["held-0"]);
    }
}

on_both!(
    holders_of_all_channels_are_not_starved_by_older_rows,
    holders_do_not_count_against_the_window,
    free_channels_are_shared_the_most_urgent_lane_first,
    jobs_that_wait_do_not_keep_an_urgent_row_back,
    at_the_cap_nothing_is_dispatched_until_there_is_room,
);
