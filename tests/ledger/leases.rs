//! The reconciler sees every row that holds a pair, with what is open about it.

use std::time::Duration;

use tender::domain::submission::{Event, Gap, Status};
use tender::ledger::{Change, SendPlan};

use crate::bed::{Bed, done, envelope, transient};

async fn every_holder_is_a_lease_whatever_its_status(bed: Bed) {
    bed.channels(6).await;
    bed.accept("waiting").await;
    let building = bed.claim(bed.accept("building").await.id).await.submission;
    let flying = bed.confirming("flying").await;
    let bump = envelope(flying.pair.unwrap());
    let flying = done(
        bed.ledger
            .record_bump(flying.id, flying.version, bump, 8)
            .await
            .unwrap(),
    );
    let idle = bed.confirming("idle").await;
    let idle = bed
        .apply(&idle, Event::ProvenDead(transient(), Gap::None))
        .await;
    let paid = bed.confirming("paid").await;
    bed.apply(&paid, Event::Succeeded).await;
    let leases = bed.ledger.leases().await.unwrap();
    let mut seen: Vec<_> = leases
        .iter()
        .map(|lease| {
            assert_eq!(Some(lease.pair), lease.submission.pair);
            (
                lease.submission.id,
                lease.submission.version,
                lease.submission.state.status,
                lease.attempts.len(),
            )
        })
        .collect();
    let mut expected = vec![
        (building.id, building.version, Status::Building, 0),
        (flying.id, flying.version, Status::Confirming, 2),
        (idle.id, idle.version, Status::Pending, 0),
    ];
    seen.sort_by_key(|lease| lease.0);
    expected.sort_by_key(|lease| lease.0);
    assert_eq!(seen, expected);
}

async fn claims_lapse_by_the_databases_clock(bed: Bed) {
    bed.channels(1).await;
    bed.claim(bed.accept("key").await.id).await;
    assert!(!bed.ledger.leases().await.unwrap()[0].claim_lapsed);
    bed.sql("UPDATE submission_ledger SET claim_until = 1")
        .await;
    let lease = bed.ledger.leases().await.unwrap().remove(0);
    assert!(lease.claim_lapsed);
    // No lease ends by itself: the pair stays with its row until a transition takes it.
    assert_eq!(bed.ledger.pool().await.unwrap().leased, 1);
    bed.apply(&lease.submission, Event::ClaimLapsed).await;
    assert!(!bed.ledger.leases().await.unwrap()[0].claim_lapsed);
}

async fn a_resend_or_a_bid_is_due_by_the_databases_clock(bed: Bed) {
    bed.channels(1).await;
    let mut row = bed.confirming("key").await;
    let due = async || bed.ledger.leases().await.unwrap()[0].send_due;
    assert!(!due().await, "recorded a moment ago");
    bed.sql("UPDATE submission_ledger SET send_at = 1").await;
    assert!(due().await);
    let bid = |after| SendPlan::RaiseFee {
        required: 500,
        operations: 1,
        after,
    };
    let table = [
        (SendPlan::Wait, false),
        (SendPlan::Resend(Duration::ZERO), true),
        (SendPlan::Resend(Duration::from_secs(600)), false),
        (bid(Duration::ZERO), true),
        (bid(Duration::MAX), false),
        (SendPlan::Stop(transient()), false),
    ];
    for (plan, expected) in table {
        let change = Change {
            sending: Some(plan.clone()),
            ..Change::new(&row, Event::AnswerNoted, "test")
        };
        row = done(bed.ledger.apply(change).await.unwrap());
        assert_eq!(due().await, expected, "{plan:?}");
    }
}

on_both!(
    every_holder_is_a_lease_whatever_its_status,
    claims_lapse_by_the_databases_clock,
    a_resend_or_a_bid_is_due_by_the_databases_clock,
);
