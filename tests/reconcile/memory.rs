//! The ledger is set back while the chain goes on: nothing is paid twice, whatever is pushed again.

use tender::domain::ids::Pair;
use tender::domain::memory::{LONGEST_WINDOW_MS, MemoryState};
use tender::domain::submission::{Status, Verdict};
use tender::flow::feed::{Feed, FeedSettings};
use tender::flow::reason::Reason;
use tender::flow::recover::{Acceptance, Recovery};
use tender::flow::requeue::{Requeued, requeue};
use tender::flow::submit::Submitted;
use tender::flow::withdraw::cancel;
use tender::ledger::ChannelState;
use tender::queue::Queue;

use crate::consumers::of_somebody_else;
use crate::support::Reply;
use crate::world::{World, answer};

const PAID: (Status, Verdict) = (Status::Confirmed, Verdict::Success);
const WINDOW_S: u64 = LONGEST_WINDOW_MS / 1_000;

fn reason() -> Reason {
    "test".parse().unwrap()
}

#[tokio::test]
async fn a_ledger_that_has_forgotten_nothing_decides_again_by_itself() {
    let world = World::start(2).await;
    let lands = world.send("lands").await;
    let waits = world.accept("waits").await;
    let begin = world.net.closed_at();
    assert!(world.ledger.stop("by hand").await.unwrap());
    world.close(1);
    assert_eq!(world.pass().await.leases, 0, "nothing is looked at");
    world.is_refused(waits).await;
    assert_eq!(world.wait_out().await, MemoryState::Open);
    assert!(world.net.closed_at() > begin + WINDOW_S);
    world
        .pass_until(lands.id, |row| row.state.status.is_terminal())
        .await;
    assert_eq!(world.stands(lands.id).await, PAID);
    world.submit(waits).await;
    assert!(matches!(world.recover(&[]).await, Recovery::Open));
}

/// The first trap: the record is gone, and its envelope still is in a queue.
#[tokio::test]
async fn a_lost_record_whose_envelope_is_still_in_flight_is_waited_for() {
    let mut world = World::start(2).await;
    let key = world.accept("key").await;
    let other = world.accept("other").await;
    // Claimed once, so that the ledger has noted who it is.
    world.settled("done").await;
    let backup = world.back_up().await;
    world.submit(key).await;

    world.roll_back(&backup).await;
    assert_eq!(world.stands(key).await.0, Status::Pending);
    world.first_look().await;
    world.is_refused(key).await;
    world.is_refused(other).await;
    world.pass().await;
    world.close(1);
    assert_eq!(
        world.payments().await,
        2,
        "the forgotten one landed meanwhile"
    );
    assert!(matches!(world.recover(&[]).await, Recovery::Waits { .. }));
    assert_eq!(world.wait_out().await, MemoryState::Held);
    world.is_refused(key).await;

    let Recovery::Reopened(survey) = world.recover(&[]).await else {
        panic!("everything is told");
    };
    assert_eq!((survey.found.len(), survey.unexplained.len()), (1, 0));
    assert_eq!(world.stands(key).await, PAID);
    assert!(world.row(key).await.evidence.is_some());
    let again = world.submitter.submit(key).await.unwrap();
    assert_eq!(again, Submitted::NotDue);
    world.submit(other).await;
    world.close(1);
    world
        .pass_until(other, |row| row.state.status.is_terminal())
        .await;
    assert_eq!(world.payments().await, 3, "each of three once");
}

/// The second trap: a pair died for one key, and paid another one after the backup.
#[tokio::test]
async fn a_pair_that_died_for_one_key_and_paid_another_is_told_apart() {
    for looks_first in ["worker", "reconciler"] {
        let mut world = World::start(1).await;
        world.nodes[0]
            .when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Close));
        let died = world.send("died").await;
        world.nodes[0].behaves();
        let backup = world.back_up_unnoticed().await;
        world.expire(0);
        world
            .pass_until(died.id, |row| row.state.status == Status::Pending)
            .await;
        cancel(&world.ledger, died.id, &reason(), "test")
            .await
            .unwrap();
        let paid = world.send("paid").await;
        assert_eq!(paid.pair, died.pair, "the same pair");
        world.close(1);
        world
            .pass_until(paid.id, |row| row.state.status.is_terminal())
            .await;

        world.roll_back(&backup).await;
        let again = world.accept("paid").await;
        if looks_first == "worker" {
            world.first_look().await;
            world.is_refused(again).await;
        }
        assert_eq!(world.wait_out().await, MemoryState::Held, "{looks_first}");
        assert_eq!(
            world.stands(died.id).await.0,
            Status::Submitted,
            "nothing is decided"
        );
        assert!(matches!(world.recover(&[]).await, Recovery::Reopened(_)));
        assert_eq!(
            world.stands(again).await,
            PAID,
            "settled by what the chain shows"
        );
        // The one that died has its turn like any other, and no account was lost over it.
        assert_eq!(world.stands(died.id).await.0, Status::Pending);
        world.submit(died.id).await;
        world.close(1);
        world
            .pass_until(died.id, |row| row.state.status.is_terminal())
            .await;
        assert_eq!(world.stands(died.id).await, PAID);
        assert_eq!(world.payments().await, 2);
        let account = died.pair.unwrap().account;
        assert_eq!(world.channel(account).await.state, ChannelState::Free);
    }
}

#[tokio::test]
async fn a_key_whose_row_is_gone_is_not_paid_again_when_it_is_pushed_again() {
    let mut world = World::start(2).await;
    let backup = world.back_up_unnoticed().await;
    for key in ["same", "other-payload"] {
        world.settled(key).await;
    }
    world.roll_back(&backup).await;
    // The free accounts are further on the chain than the ledger knows.
    world.first_look().await;
    assert_eq!(world.wait_out().await, MemoryState::Held);
    assert!(matches!(world.recover(&[]).await, Recovery::Reopened(_)));
    assert!(matches!(world.recover(&[]).await, Recovery::Open));
    assert_eq!(world.ledger.recovered().await.unwrap().len(), 2);
    let same = world.accept("same").await;
    let other = world.accept_of("other-payload", "7").await;
    for id in [same, other] {
        assert_eq!(
            world.submitter.submit(id).await.unwrap(),
            Submitted::Recovered
        );
    }
    assert_eq!(world.stands(same).await, PAID);
    assert_eq!(
        world.stands(other).await,
        (Status::Failed, Verdict::Success)
    );
    let row = world.row(other).await;
    assert_eq!(row.last_error.as_deref(), Some("key_paid_otherwise"));
    let requeued = requeue(&world.ledger, other, &reason(), "test")
        .await
        .unwrap();
    assert!(
        matches!(requeued, Requeued::AlreadyEffective),
        "{requeued:?}"
    );
    world.close(1);
    assert_eq!(world.payments().await, 2);
    // The pool goes on behind what was used.
    let next = world.settled("next").await;
    assert_eq!(world.stands(next.id).await, PAID);
}

#[tokio::test]
async fn an_account_that_went_on_after_what_the_ledger_remembers_of_it_is_no_loss_once_recovered() {
    let mut world = World::start(1).await;
    let known = world.send("known").await;
    let backup = world.back_up_unnoticed().await;
    world.close(1);
    world
        .pass_until(known.id, |row| row.state.status.is_terminal())
        .await;
    world.settled("forgotten").await;
    world.roll_back(&backup).await;
    world.first_look().await;
    assert_eq!(world.wait_out().await, MemoryState::Held);
    assert!(matches!(world.recover(&[]).await, Recovery::Reopened(_)));
    world.first_look().await;
    world.close(10);
    world
        .pass_until(known.id, |row| row.state.status.is_terminal())
        .await;
    assert_eq!(world.stands(known.id).await, PAID);
    let next = world.settled("next").await;
    assert_eq!(
        (world.stands(next.id).await, world.payments().await),
        (PAID, 3)
    );
}

#[tokio::test]
async fn what_a_killed_recovery_found_counts_for_the_next_one() {
    let mut world = World::start(1).await;
    let backup = world.back_up_unnoticed().await;
    let ours = world.send("ours").await;
    let pair = ours.pair.unwrap();
    world.close(1);
    let sequence = pair.sequence + 1;
    let next = Pair { sequence, ..pair };
    let stranger = of_somebody_else(&world, next).await;
    world
        .net
        .rpc
        .send_transaction(stranger.hash, &stranger.xdr)
        .await;
    world.close(1);
    world.roll_back(&backup).await;
    world.first_look().await;
    assert_eq!(world.wait_out().await, MemoryState::Held);
    // As far as a run came that was killed before it settled anything.
    world.survey_and_die().await;
    assert_eq!(world.ledger.recovered().await.unwrap().len(), 2);
    assert!(matches!(world.recover(&[]).await, Recovery::Reopened(_)));
    let channel = world.channel(pair.account).await;
    assert_eq!(channel.state, ChannelState::Quarantined);
    assert_eq!(channel.next_sequence, sequence + 1);
    let again = world.accept("ours").await;
    let submitted = world.submitter.submit(again).await.unwrap();
    assert_eq!(submitted, Submitted::Recovered);
    assert_eq!(
        (world.stands(again).await, world.payments().await),
        (PAID, 1)
    );
}

#[tokio::test]
async fn a_row_that_failed_by_the_memory_that_is_left_was_paid_all_the_same() {
    let mut world = World::start(1).await;
    world.nodes[0].when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Close));
    let row = world.send("key").await;
    let cancelled = world.accept("cancelled").await;
    cancel(&world.ledger, cancelled, &reason(), "test")
        .await
        .unwrap();
    for _ in 0..3 {
        world.expire(0);
        world
            .pass_until(row.id, |row| row.state.status == Status::Pending)
            .await;
        world.submit(row.id).await;
    }
    world.expire(0);
    world
        .pass_until(row.id, |row| row.state.status.is_terminal())
        .await;
    world.nodes[0].behaves();
    let backup = world.back_up_unnoticed().await;
    // After the backup staff had it run again.
    requeue(&world.ledger, row.id, &reason(), "test")
        .await
        .unwrap();
    world.submit(row.id).await;
    world.close(1);
    world
        .pass_until(row.id, |row| row.state.status.is_terminal())
        .await;
    world.roll_back(&backup).await;
    assert_eq!(world.stands(row.id).await.0, Status::Failed);
    assert_eq!(world.wait_out().await, MemoryState::Held);
    assert!(matches!(world.recover(&[]).await, Recovery::Reopened(_)));
    assert_eq!(world.stands(row.id).await, PAID);
    let requeued = requeue(&world.ledger, row.id, &reason(), "test")
        .await
        .unwrap();
    assert!(
        matches!(requeued, Requeued::AlreadyEffective),
        "{requeued:?}"
    );
    assert_eq!(world.stands(cancelled).await.0, Status::Cancelled);
    assert_eq!(world.payments().await, 1);
}

#[tokio::test]
async fn what_no_history_shows_holds_everything_until_staff_accept_it() {
    let mut world = World::start(2).await;
    let held = world.send("held").await;
    let backup = world.back_up_unnoticed().await;
    world.close(1);
    world
        .pass_until(held.id, |row| row.state.status.is_terminal())
        .await;
    for key in ["one", "two"] {
        world.settled(key).await;
    }
    world.roll_back(&backup).await;
    world.nodes[0].when_asked(|node, method, params| {
        if method != "getHealth" {
            return None;
        }
        let Reply::Result(mut health) = answer(node, method, params) else {
            return None;
        };
        health["oldestLedger"] = health["latestLedger"].clone();
        Some(Reply::Result(health))
    });
    assert_eq!(world.wait_out().await, MemoryState::Held);
    let Recovery::Held(survey) = world.recover(&[]).await else {
        panic!("no history shows them");
    };
    let mut unknown: Vec<_> = survey.unexplained.clone();
    unknown.sort_by_key(|it| (it.account, *it.sequences.start()));
    let again = world.accept("one").await;
    world.is_refused(again).await;
    let mut accepted: Vec<_> = unknown
        .iter()
        .map(|it| Acceptance {
            account: it.account,
            sequences: it.sequences.clone(),
        })
        .collect();
    let last = accepted.pop().unwrap();
    assert!(
        matches!(world.recover(&accepted).await, Recovery::Held(_)),
        "one is left"
    );
    assert!(matches!(
        world.recover(&[last]).await,
        Recovery::Reopened(_)
    ));
    let noted = world.ledger.recovered().await.unwrap();
    assert!(
        noted.iter().all(|it| it.evidence["accepted"] == "test"),
        "{noted:?}"
    );
    // Which key was paid by them nobody knows: the one that held such a pair waits for staff.
    assert_eq!(
        world.row(held.id).await.state.verdict,
        Verdict::Indeterminate
    );
}

#[tokio::test]
async fn a_mark_beside_the_ledger_is_enough_to_notice() {
    let mut world = World::start(1).await;
    let queue = Queue::memory();
    let feed = |world: &World| {
        let settings = FeedSettings {
            window: 10,
            redispatch_after: std::time::Duration::ZERO,
            period: std::time::Duration::from_secs(1),
        };
        Feed::new(world.ledger.clone(), queue.clone(), settings)
    };
    world.accept("waits").await;
    let backup = world.back_up_unnoticed().await;
    // Nothing of it reaches the chain.
    world.nodes[0].when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Close));
    world.send("sent").await;
    feed(&world).run_once().await.unwrap();
    world.roll_back(&backup).await;
    world.first_look().await;
    assert_eq!(
        world.state().await,
        MemoryState::Open,
        "the chain shows nothing"
    );
    assert_eq!(
        feed(&world).run_once().await.unwrap(),
        0,
        "nothing is handed out"
    );
    assert_eq!(world.state().await, MemoryState::Lost);
    assert_eq!(
        world.wait_out().await,
        MemoryState::Open,
        "nothing was paid"
    );
    assert_eq!(feed(&world).run_once().await.unwrap(), 1);
    assert_eq!(
        world.state().await,
        MemoryState::Open,
        "and that is the end of it"
    );
}
