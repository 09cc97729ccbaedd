//! What one node, one row or one answer does wrong keeps nothing else from being settled.

use tender::domain::submission::{Status, Verdict};
use tender::ledger::ChannelState;

use crate::support::Reply;
use crate::world::{World, answer, asked_for};

const PAID: (Status, Verdict) = (Status::Confirmed, Verdict::Success);

#[tokio::test]
async fn a_payment_is_confirmed_by_its_event() {
    let world = World::start(1).await;
    let row = world.send("key").await;
    assert_eq!(row.state.status, Status::Confirming);
    world.close(1);
    let report = world.pass().await;
    assert_eq!((report.leases, report.settled, report.faults), (1, 1, 0));
    assert_eq!(world.stands(row.id).await, PAID);
    assert_eq!(world.payments().await, 1);
    let account = row.pair.unwrap().account;
    assert_eq!(world.channel(account).await.state, ChannelState::Free);
}

#[tokio::test]
async fn a_node_that_keeps_events_back_does_not_stop_the_passes() {
    let world = World::start(2).await;
    world.nodes[0]
        .when_asked(|_, method, _| (method == "getEvents").then_some(Reply::Error(-32603)));
    let row = world.send("key").await;
    world.close(1);
    world.pass().await;
    assert_eq!(world.stands(row.id).await, PAID, "its hash was looked up");
    let evidence = world.row(row.id).await.evidence.unwrap();
    assert_eq!(evidence["proof"], "ledger");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_keeps_no_other_from_being_settled() {
    let world = World::start(2).await;
    let broken = world.send("broken").await;
    let whole = world.send("whole").await;
    world
        .sql("UPDATE submission_ledger SET logical_operation = 'riddle' WHERE idempotency_key = 'broken'")
        .await;
    assert!(world.ledger.submission(broken.id).await.is_err());
    world.close(1);
    let report = world.pass().await;
    assert_eq!((report.leases, report.settled), (1, 1));
    assert_eq!(world.stands(whole.id).await, PAID);
    assert_eq!(
        world.ledger.pool().await.unwrap().leased,
        1,
        "it keeps its pair"
    );
}

#[tokio::test]
async fn a_step_that_fails_keeps_no_other_from_being_carried_out() {
    let world = World::start(2).await;
    let (first, second) = (world.send("first").await, world.send("second").await);
    let hidden = first.tx_hash.unwrap();
    world.nodes[0].when_asked(move |_, method, params| match method {
        "getEvents" => Some(Reply::Error(-32603)),
        _ => (asked_for(method, params) == Some(hidden)).then_some(Reply::Status(504)),
    });
    world.close(1);
    world.pass().await;
    assert_eq!(world.stands(first.id).await.0, Status::Confirming);
    assert_eq!(world.stands(second.id).await, PAID);
    world.nodes[0].behaves();
    world.pass().await;
    assert_eq!(world.stands(first.id).await, PAID);
}

#[tokio::test]
async fn a_node_that_fails_whole_pages_of_accounts_loses_nothing_that_events_told() {
    let world = World::start(2).await;
    let (first, second) = (world.send("first").await, world.send("second").await);
    world.close(1);
    world.nodes[0]
        .when_asked(|_, method, _| (method == "getLedgerEntries").then_some(Reply::Status(502)));
    let third = world.accept("third").await;
    let report = world.pass().await;
    assert_eq!((report.settled, report.faults), (2, 0));
    world.submit(third).await;
    let report = world.pass().await;
    assert_eq!(
        (report.settled, report.faults),
        (0, 1),
        "it is told that something failed"
    );
    for row in [first, second] {
        assert_eq!(world.stands(row.id).await, PAID);
    }
}

#[tokio::test]
async fn an_account_that_is_gone_is_set_aside_though_its_payment_is_found() {
    let world = World::start(1).await;
    let row = world.send("key").await;
    world.nodes[0].when_asked(|node, method, params| match method {
        "getEvents" => Some(Reply::Error(-32603)),
        // As after a merge: the entry is no longer there.
        "getLedgerEntries" => match answer(node, method, params) {
            Reply::Result(mut result) => {
                result["entries"] = serde_json::json!([]);
                Some(Reply::Result(result))
            }
            other => Some(other),
        },
        _ => None,
    });
    world.close(1);
    world.pass().await;
    assert_eq!(
        world.stands(row.id).await.0,
        Status::Confirming,
        "absence proves nothing while an envelope may be alive"
    );
    world.expire(0);
    world.pass().await;
    assert_eq!(world.stands(row.id).await, PAID);
    let channel = world.channel(row.pair.unwrap().account).await;
    assert_eq!(channel.state, ChannelState::Quarantined);
}

#[tokio::test]
async fn a_send_that_got_lost_is_repeated_with_the_same_bytes() {
    let world = World::start(1).await;
    world.nodes[0].when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Close));
    let row = world.send("key").await;
    assert_eq!(row.state.status, Status::Submitted);
    world.nodes[0].behaves();
    world.close(1);
    let report = world.pass().await;
    assert_eq!(report.resent, 1);
    world
        .pass_until(row.id, |row| row.state.status == Status::Confirming)
        .await;
    world.close(1);
    world.pass().await;
    assert_eq!(world.stands(row.id).await, PAID);
    let attempts = world.ledger.attempts(row.id).await.unwrap();
    assert_eq!((attempts.len(), world.payments().await), (1, 1));
}

#[tokio::test]
async fn a_resend_whose_answer_is_slow_is_not_overtaken_by_another() {
    let world = World::start(1).await;
    world.nodes[0].when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Close));
    let row = world.send("key").await;
    world.nodes[0].when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Hang));
    assert_eq!(world.pass().await.resent, 1);
    let version = world.row(row.id).await.version;
    let rival = world.rival();
    rival.look_at_chain().await.unwrap();
    assert_eq!(rival.pass().await.unwrap().resent, 0);
    assert_eq!(
        world.row(row.id).await.version,
        version,
        "the answer can still be noted"
    );
}
