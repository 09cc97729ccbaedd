//! The line goes on: one payment a ledger, through lost answers, deaths and gaps.

use tender::domain::submission::Status;
use tender::flow::submit::Submitted;

use crate::line::{Line, PAID, Way};
use crate::net::FIRST_SEQUENCE;
use crate::world::TIMEOUT_S;

const FIRST: i64 = FIRST_SEQUENCE + 1;

#[tokio::test]
async fn the_next_one_is_recorded_ahead_and_sent_in_its_turn() {
    let line = Line::start().await;
    let (first, sequence) = line.take("first", Submitted::Sent).await;
    assert_eq!(sequence, FIRST);
    let (second, sequence) = line.take("second", Submitted::Recorded).await;
    assert_eq!(sequence, FIRST + 1);
    let third = line.world.accept("third").await;
    assert_eq!(line.submit(third).await, Submitted::NoChannel);
    assert_eq!(line.sent(), 1);
    line.pass().await;
    assert_eq!(line.sent(), 1, "a node would refuse it before its turn");
    line.round().await;
    assert_eq!(line.sent(), 2);
    line.world.close(1);
    line.paid(second).await;
    assert_eq!(line.submit(third).await, Submitted::Sent);
    line.world.close(1);
    line.paid(third).await;
    line.audit(&[first, second, third]).await;
}

#[tokio::test]
async fn thirty_payments_through_lost_answers_and_a_death_have_one_effect_each() {
    let line = Line::start().await;
    let mut rows = Vec::new();
    for number in 0..30 {
        rows.push(line.world.accept(&format!("key-{number}")).await);
    }
    line.until_paid(&rows[..10], 20).await;
    line.way(Way::AnswersLost);
    line.until_paid(&rows[..18], 20).await;
    // The way is closed until what is out has expired, and opens again.
    line.way(Way::Closed);
    line.offer(&rows).await;
    line.round().await;
    line.world.expire(0);
    line.way(Way::AnswersLost);
    line.until_paid(&rows, 40).await;
    line.audit(&rows).await;
    let mut died = 0;
    for id in &rows {
        died += usize::from(line.world.row(*id).await.attempt_count > 1);
    }
    assert!((1..=2).contains(&died), "{died} envelopes expired");
}

#[tokio::test]
async fn a_gap_is_filled_by_whoever_is_claimed_next_and_the_one_behind_it_is_paid_as_it_was_signed()
{
    let line = Line::start().await;
    line.way(Way::Closed);
    let dying = line.world.accept("dying").await;
    assert_eq!(line.submit(dying).await, Submitted::Sent);
    for _ in 0..6 {
        line.round().await;
    }
    let behind = line.world.accept("behind").await;
    assert_eq!(line.submit(behind).await, Submitted::Recorded);
    // The first one dies; the second one lives on, and cannot be applied.
    let at = line.world.net.closed_at() + TIMEOUT_S - 25;
    line.world.net.node.close_ledger_at(at);
    line.pass().await;
    assert_eq!(line.world.stands(dying).await.0, Status::Pending);
    line.way(Way::Open);
    line.pass().await;
    assert!(
        !line.world.row(dying).await.state.holds_pair,
        "it makes way"
    );
    let next = line.world.accept("next").await;
    assert_eq!(line.submit(next).await, Submitted::Sent);
    assert_eq!(line.world.row(next).await.pair.unwrap().sequence, FIRST);
    line.round().await;
    assert_eq!(line.world.stands(next).await, PAID);
    line.world.close(1);
    line.paid(behind).await;
    assert_eq!(line.world.row(behind).await.attempt_count, 1);
    line.until_paid(&[dying], 3).await;
    line.audit(&[dying, behind, next]).await;
}

#[tokio::test]
async fn a_gap_that_nobody_fills_ends_with_the_death_of_what_waits_behind_it() {
    let line = Line::start().await;
    line.way(Way::Closed);
    let dying = line.world.accept("dying").await;
    line.submit(dying).await;
    for _ in 0..6 {
        line.round().await;
    }
    let behind = line.world.accept("behind").await;
    assert_eq!(line.submit(behind).await, Submitted::Recorded);
    let at = line.world.net.closed_at() + TIMEOUT_S - 25;
    line.world.net.node.close_ledger_at(at);
    line.pass().await;
    line.pass().await;
    line.way(Way::Open);
    // No worker claims anything meanwhile.
    line.world.expire(0);
    line.pass().await;
    let row = line.world.row(behind).await;
    assert_eq!(
        (row.state.status, row.state.holds_pair),
        (Status::Pending, false)
    );
    line.until_paid(&[behind, dying], 4).await;
    line.audit(&[dying, behind]).await;
}
