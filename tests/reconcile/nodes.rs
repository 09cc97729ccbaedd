//! Several nodes: an outcome is out of reach only when each of them says so.

use serde_json::json;
use tender::domain::submission::{Status, Verdict};
use tender::ledger::ChannelState;

use crate::support::Reply;
use crate::world::{Node, World, answer, not_found};

/// A node that began to keep ledgers after everything that happened here.
fn forgets(node: &Node) {
    node.when_asked(|node, method, params| {
        let latest = node.latest().borrow().sequence;
        match method {
            "getEvents" => Some(Reply::Error(-32603)),
            "getTransaction" => match not_found(node, params) {
                Reply::Result(mut result) => {
                    result["oldestLedger"] = json!(latest);
                    Some(Reply::Result(result))
                }
                other => Some(other),
            },
            "getTransactions" => Some(Reply::Error(-32600)),
            "getHealth" => match answer(node, method, params) {
                Reply::Result(mut result) => {
                    result["oldestLedger"] = json!(latest);
                    Some(Reply::Result(result))
                }
                other => Some(other),
            },
            _ => None,
        }
    });
}

#[tokio::test]
async fn a_node_with_a_longer_history_settles_what_the_first_one_forgot() {
    let world = World::with_nodes(2, 1).await;
    let row = world.send("key").await;
    forgets(&world.nodes[0]);
    world.close(3);
    world
        .pass_until(row.id, |row| row.state.status.is_terminal())
        .await;
    assert_eq!(
        world.stands(row.id).await,
        (Status::Confirmed, Verdict::Success)
    );
}

#[tokio::test]
async fn what_every_node_forgot_is_indeterminate_and_a_silent_node_forgot_nothing() {
    let world = World::with_nodes(2, 1).await;
    let row = world.send("key").await;
    forgets(&world.nodes[0]);
    world.nodes[1].when_asked(|_, _, _| Some(Reply::Status(503)));
    world.close(3);
    for _ in 0..20 {
        world.pass().await;
        tokio::task::yield_now().await;
    }
    assert_eq!(
        world.stands(row.id).await,
        (Status::Confirming, Verdict::Pending),
        "the other node may know"
    );
    forgets(&world.nodes[1]);
    world
        .pass_until(row.id, |row| row.state.verdict == Verdict::Indeterminate)
        .await;
    let row = world.row(row.id).await;
    assert_eq!(row.last_error.as_deref(), Some("consumer_beyond_reach"));
    assert_eq!(
        world.channel(row.pair.unwrap().account).await.state,
        ChannelState::Free
    );
}
