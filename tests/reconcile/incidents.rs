//! What went wrong for others, each with the kind of fault that was behind it.

use tender::domain::submission::{Status, Verdict};
use tender_devnet::faults::{Fault, FaultPlan, Loss, Release, Rule, When};
use tender_devnet::rpc::Method;

use crate::net::{CLOSE_S, Net};
use crate::support::Reply;
use crate::world::{TIMEOUT_S, World};

const PAID: (Status, Verdict) = (Status::Confirmed, Verdict::Success);

async fn world(channels: u8, rules: Vec<Rule>) -> World {
    let plan = FaultPlan::ruled(7, rules).unwrap();
    World::behind(channels, |front| front.with_faults(plan)).await
}

fn sends(fault: Fault, when: When) -> Rule {
    Rule::call(fault, &[Method::SendTransaction], when)
}

/// Every envelope of the row, and how many of its payments the chain has.
async fn made(world: &World, row: &tender::ledger::Submission) -> (usize, usize) {
    let envelopes = world.ledger.attempts(row.id).await.unwrap().len();
    (envelopes, world.payments().await)
}

#[tokio::test]
async fn the_node_accepted_and_its_answer_never_came() {
    let lost = Fault::AnswerLostAfterAccept(Loss::Hang);
    let world = world(2, vec![sends(lost, When::UpTo(1))]).await;
    let row = world.send("key").await;
    assert_eq!(row.state.status, Status::Submitted, "nothing is known");
    world.close(1);
    world.pass().await;
    assert_eq!(world.stands(row.id).await, PAID);
    assert_eq!(made(&world, &row).await, (1, 1));
}

#[tokio::test]
async fn try_again_later_is_neither_success_nor_failure() {
    for taken in [true, false] {
        let world = world(1, vec![sends(Fault::TryAgainLater { taken }, When::Always)]).await;
        let row = world.send("key").await;
        for _ in 0..3 {
            assert_eq!(world.stands(row.id).await.0, Status::Submitted);
            world.close(1);
            world.pass().await;
            if taken {
                break;
            }
        }
        let stands = world.stands(row.id).await;
        if taken {
            assert_eq!(stands, PAID, "the chain says so, not the answer");
            continue;
        }
        assert_eq!(stands.0, Status::Submitted);
        world.expire(0);
        world.pass().await;
        assert_eq!(world.stands(row.id).await.0, Status::Pending, "proven dead");
        assert_eq!(made(&world, &row).await, (1, 0));
    }
}

#[tokio::test]
async fn bad_sequence_although_it_is_in_a_ledger() {
    let rules = vec![
        sends(Fault::AnswerLostAfterAccept(Loss::Reset), When::UpTo(1)),
        sends(Fault::BadSequence { ledgers: 3 }, When::Always),
        Rule::call(
            Fault::IndexLag { ledgers: 2 },
            &[
                Method::GetTransaction,
                Method::GetTransactions,
                Method::GetEvents,
            ],
            When::Always,
        ),
    ];
    let world = world(2, rules).await;
    let row = world.send("key").await;
    world.close(1);
    for _ in 0..10 {
        world.pass().await;
        tokio::task::yield_now().await;
        assert_eq!(world.row(row.id).await.pair, row.pair, "the pair is pinned");
    }
    world.close(2);
    world
        .pass_until(row.id, |row| row.state.status.is_terminal())
        .await;
    assert_eq!(world.stands(row.id).await, PAID);
    assert_eq!(made(&world, &row).await, (1, 1));
}

#[tokio::test]
async fn a_timeout_and_the_payment_lands_in_the_last_valid_ledger() {
    let rules = vec![
        sends(
            Fault::AnswerLostAfterAccept(Loss::GatewayTimeout),
            When::Always,
        ),
        sends(
            Fault::Held {
                until: Release::LastValid,
                dropped: true,
            },
            When::UpTo(1),
        ),
    ];
    let world = world(2, rules).await;
    // The pace of closes tells which ledger will be the last one.
    world.close(2);
    let row = world.send("key").await;
    let mut ledgers = 0;
    while world.payments().await == 0 {
        let now = world.row(row.id).await;
        assert_eq!((now.state.status, now.pair), (Status::Submitted, row.pair));
        assert_eq!(made(&world, &row).await.0, 1, "nothing is rebuilt");
        world.close(1);
        world.pass().await;
        ledgers += 1;
        assert!(ledgers < 30, "it is over by now");
    }
    assert!(ledgers > 20, "it came after {ledgers} ledgers");
    // The answer to a resend may be noted meanwhile: then the next pass settles it.
    world
        .pass_until(row.id, |row| row.state.status.is_terminal())
        .await;
    assert_eq!(world.stands(row.id).await, PAID);
    assert_eq!(made(&world, &row).await, (1, 1));
}

#[tokio::test]
async fn the_hosts_clock_is_minutes_off() {
    for ahead in [-300, 300] {
        let net = Net::with_clock(ahead).await;
        let world = World::of(net, 1, 1).await;
        let paid = world.send("paid").await;
        world.close(1);
        world.pass().await;
        assert_eq!(world.stands(paid.id).await, PAID, "{ahead} s ahead");
        let envelope = &world.ledger.attempts(paid.id).await.unwrap()[0].envelope;
        let life = envelope.max_time + CLOSE_S - world.net.closed_at();
        assert_eq!(life, TIMEOUT_S, "counted from the last close");
        // And it takes a ledger's close, not the host's time, to call an envelope dead.
        world.nodes[0]
            .when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Close));
        let lost = world.send("lost").await;
        world.close(23);
        world.pass().await;
        assert_eq!(world.stands(lost.id).await.0, Status::Submitted);
        world.close(3);
        world.pass().await;
        assert_eq!(world.stands(lost.id).await.0, Status::Pending);
    }
}

#[tokio::test]
async fn a_node_five_ledgers_behind_takes_turns_with_a_good_one() {
    let world = World::behind(2, |front| front.with_lags(&[0, 5])).await;
    world.close(6);
    for n in 0..6 {
        let row = world.send(&format!("key-{n}")).await;
        for _ in 0..8 {
            world.close(1);
            world.pass().await;
        }
        world
            .pass_until(row.id, |row| row.state.status.is_terminal())
            .await;
        assert_eq!(world.stands(row.id).await, PAID);
    }
    assert_eq!(world.payments().await, 6);
}

#[tokio::test]
async fn history_is_shorter_than_the_outage() {
    let short = Fault::ShortHistory { ledgers: 3 };
    let reads = [
        Method::GetTransaction,
        Method::GetTransactions,
        Method::GetEvents,
        Method::GetHealth,
    ];
    let lost = Fault::AnswerLostAfterAccept(Loss::Reset);
    let rules = vec![
        sends(lost, When::Always),
        Rule::call(short, &reads, When::Always),
    ];
    let world = world(2, rules).await;
    let row = world.send("key").await;
    world.close(12);
    world
        .pass_until(row.id, |row| row.state.verdict == Verdict::Indeterminate)
        .await;
    for _ in 0..3 {
        world.close(1);
        assert_eq!(world.pass().await.resent, 0, "nothing is sent any more");
    }
    assert_eq!(made(&world, &row).await, (1, 1));
}

#[tokio::test]
async fn retries_are_exhausted_only_by_proof_and_a_late_inclusion_counts() {
    let before = Fault::AnswerLostBeforeAccept(Loss::GatewayTimeout);
    let world = world(1, vec![sends(before, When::Always)]).await;
    let row = world.send("key").await;
    // However often nothing is known, that is no failure.
    for _ in 0..12 {
        world.close(1);
        world.pass().await;
        assert_eq!(world.stands(row.id).await.0, Status::Submitted);
    }
    let envelope = &world.ledger.attempts(row.id).await.unwrap()[0].envelope;
    let late = world
        .net
        .rpc
        .send_transaction(envelope.hash, &envelope.xdr)
        .await;
    assert_eq!(late.answer, tender::domain::classify::SendAnswer::Pending);
    world.close(1);
    world
        .pass_until(row.id, |row| row.state.status.is_terminal())
        .await;
    assert_eq!(world.stands(row.id).await, PAID);
}

#[tokio::test]
async fn the_process_that_lost_the_answer_died_and_another_one_goes_on() {
    let lost = Fault::AnswerLostAfterAccept(Loss::Reset);
    let world = world(1, vec![sends(lost, When::UpTo(1))]).await;
    let row = world.send("key").await;
    world.close(1);
    let after = world.rival();
    after.look_at_chain().await.unwrap();
    after.pass().await.unwrap();
    assert_eq!(world.stands(row.id).await, PAID);
    assert_eq!(world.row(row.id).await.tx_hash, row.tx_hash);
    assert_eq!(made(&world, &row).await, (1, 1));
}
