//! A pair is used: by whom is asked of the chain, and nothing but a transaction that is seen decides.

use serde_json::Value;
use tender::domain::ids::{AccountId, Pair};
use tender::domain::key::KeyTag;
use tender::domain::memory::MemoryState;
use tender::domain::operation::Asset;
use tender::domain::submission::{Status, Verdict};
use tender::ledger::{ChannelState, Submission};
use tender::stellar::envelope::{Recipe, SignedEnvelope, build};
use tender::stellar::signer::Signer;

use crate::net::{channel, payee, paying};
use crate::support::Reply;
use crate::world::{World, asked_for, not_found};

const PAID: (Status, Verdict) = (Status::Confirmed, Verdict::Success);

/// An envelope of the pair that somebody else built.
pub async fn of_somebody_else(world: &World, pair: Pair) -> SignedEnvelope {
    let operation = paying(Asset::Native, payee(), "1");
    let recipe = Recipe {
        network: &world.net.id,
        pair,
        channel: &channel(0),
        treasury: &Signer::from_seed(&[4; 32]),
        operation: &operation,
        tag: KeyTag(7),
        fee: 100,
        max_time: world.net.closed_at() + 60,
    };
    build(recipe).await.unwrap()
}

fn hide_index_and_events(world: &World) {
    world.nodes[0].when_asked(|node, method, params| match method {
        "getEvents" => Some(Reply::Error(-32603)),
        "getTransaction" => Some(not_found(node, params)),
        _ => None,
    });
}

#[tokio::test]
async fn what_is_not_indexed_yet_is_ours_all_the_same() {
    let world = World::start(2).await;
    let row = world.send("key").await;
    hide_index_and_events(&world);
    world.close(1);
    for _ in 0..20 {
        world.pass().await;
        tokio::task::yield_now().await;
    }
    assert_eq!(
        world.stands(row.id).await,
        (Status::Confirming, Verdict::Pending),
        "seen in a ledger, but its effect is not"
    );
    world.nodes[0].behaves();
    world
        .pass_until(row.id, |row| row.state.status.is_terminal())
        .await;
    assert_eq!(world.stands(row.id).await, PAID);
    assert_eq!(world.payments().await, 1);
}

#[tokio::test]
async fn a_foreign_consumer_that_is_seen_sets_the_account_aside_and_the_payment_starts_over() {
    let world = World::start(2).await;
    world.nodes[0].when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Close));
    let row = world.send("key").await;
    world.nodes[0].behaves();
    let pair = row.pair.unwrap();
    let foreign = of_somebody_else(&world, pair).await;
    world
        .net
        .rpc
        .send_transaction(foreign.hash, &foreign.xdr)
        .await;
    world.close(1);
    world
        .pass_until(row.id, |row| row.state.status == Status::Pending)
        .await;
    let channel = world.channel(pair.account).await;
    assert_eq!(channel.state, ChannelState::Quarantined);
    world.submit(row.id).await;
    assert_ne!(world.row(row.id).await.pair.unwrap().account, pair.account);
    world.close(1);
    world.pass().await;
    assert_eq!(world.stands(row.id).await, PAID);
    assert_eq!(world.payments().await, 1);
}

/// The commit that recorded the envelope is lost, as by a failover to a replica that lags; the envelope is not.
async fn forget_the_envelope(world: &World, row: &Submission) {
    let id = "(SELECT id FROM submission_ledger)";
    world
        .sql(&format!(
            "DELETE FROM submission_attempts WHERE submission_id IN {id}"
        ))
        .await;
    world
        .sql("UPDATE submission_ledger SET status = 'pending', tx_hash = NULL, send_state = 'waiting', send_at = NULL")
        .await;
    assert!(world.row(row.id).await.state.holds_pair);
}

#[tokio::test]
async fn a_payment_whose_record_was_lost_stops_everything_before_it_is_made_again() {
    let world = World::start(2).await;
    let row = world.send("key").await;
    forget_the_envelope(&world, &row).await;
    world.close(1);
    world.pass_until_stopped().await;
    assert_eq!(
        world.stands(row.id).await.0,
        Status::Pending,
        "nothing is decided"
    );
    assert_eq!(world.payments().await, 1);
}

#[tokio::test]
async fn an_idle_pair_used_by_somebody_else_is_left_for_another() {
    let world = World::start(2).await;
    world.nodes[0].when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Close));
    let row = world.send("key").await;
    world.nodes[0].behaves();
    forget_the_envelope(&world, &row).await;
    let foreign = of_somebody_else(&world, row.pair.unwrap()).await;
    world
        .net
        .rpc
        .send_transaction(foreign.hash, &foreign.xdr)
        .await;
    world.close(1);
    world.pass_until(row.id, |row| !row.state.holds_pair).await;
    assert_eq!(
        world.stands(row.id).await,
        (Status::Pending, Verdict::Pending)
    );
    let channel = world.channel(row.pair.unwrap().account).await;
    assert_eq!(channel.state, ChannelState::Quarantined);
}

#[tokio::test]
async fn an_idle_pair_that_two_strangers_overtook_is_no_loss_and_left_for_another() {
    let world = World::start(2).await;
    world.nodes[0].when_asked(|_, method, _| (method == "sendTransaction").then_some(Reply::Close));
    let row = world.send("key").await;
    world.nodes[0].behaves();
    forget_the_envelope(&world, &row).await;
    let pair = row.pair.unwrap();
    let mut strangers = Vec::new();
    for sequence in [pair.sequence, pair.sequence + 1] {
        let foreign = of_somebody_else(&world, Pair { sequence, ..pair }).await;
        world
            .net
            .rpc
            .send_transaction(foreign.hash, &foreign.xdr)
            .await;
        world.close(1);
        strangers.push(foreign.hash);
    }
    // The account names the ledger of the second one, whom an index that lags does not show yet.
    world.nodes[0].when_asked(|_, method, _| {
        (method == "getTransactions").then_some(Reply::Result(serde_json::json!({
            "transactions": [], "latestLedger": 2, "latestLedgerCloseTimestamp": 0,
            "oldestLedger": 1, "oldestLedgerCloseTimestamp": 0, "cursor": "",
        })))
    });
    for _ in 0..3 {
        world.pass().await;
    }
    assert_eq!(world.state().await, MemoryState::Open);
    assert!(world.row(row.id).await.state.holds_pair, "nothing was seen");
    world.nodes[0].behaves();
    world.pass_until(row.id, |row| !row.state.holds_pair).await;
    assert_eq!(
        world.stands(row.id).await,
        (Status::Pending, Verdict::Pending)
    );
    assert_eq!(
        (world.state().await, world.channel(pair.account).await.state),
        (MemoryState::Open, ChannelState::Quarantined)
    );
    world.submit(row.id).await;
    world.close(1);
    world.pass().await;
    assert_eq!(world.stands(row.id).await, PAID);
    assert_eq!(
        world.payments().await,
        1,
        "{strangers:?} paid somebody else"
    );
}

/// Two strangers use a free account one after the other; the ledger in which the second one does.
async fn strangers_use(world: &World, account: AccountId) -> u64 {
    let sequence = world.channel(account).await.next_sequence;
    for sequence in [sequence, sequence + 1] {
        let pair = Pair { account, sequence };
        let stranger = of_somebody_else(world, pair).await;
        world
            .net
            .rpc
            .send_transaction(stranger.hash, &stranger.xdr)
            .await;
        world.close(1);
    }
    world.net.rpc.latest().await.unwrap().ledger.into()
}

#[tokio::test]
async fn an_account_that_two_strangers_used_is_no_loss_while_a_node_lags_behind_the_second() {
    type Lag = fn(&str, &Value, u64) -> Option<Reply>;
    let index: Lag = |method, params, last| {
        let earlier = method == "getTransactions" && params["startLedger"].as_u64()? < last;
        earlier.then_some(Reply::Result(serde_json::json!({
            "transactions": [], "latestLedger": 1, "latestLedgerCloseTimestamp": 0,
            "oldestLedger": 1, "oldestLedgerCloseTimestamp": 0, "cursor": "",
        })))
    };
    let ledger: Lag = |method, _, last| {
        (method == "getHealth").then(|| {
            Reply::Result(serde_json::json!({
                "status": "healthy", "latestLedger": last - 2, "latestLedgerCloseTime": "1800000000",
                "oldestLedger": 1, "ledgerRetentionWindow": 1000,
            }))
        })
    };
    for (lag, told_meanwhile) in [(index, false), (ledger, true)] {
        let world = World::start(1).await;
        let account = world.ledger.channels().await.unwrap()[0].account;
        let last = strangers_use(&world, account).await;
        world.nodes[0].when_asked(move |_, method, params| lag(method, params, last));
        for _ in 0..3 {
            world.pass().await;
            assert_eq!(world.state().await, MemoryState::Open);
        }
        let set_aside = world.channel(account).await.state == ChannelState::Quarantined;
        assert_eq!(set_aside, told_meanwhile);
        world.nodes[0].behaves();
        world.pass().await;
        assert_eq!(
            (world.state().await, world.channel(account).await.state),
            (MemoryState::Open, ChannelState::Quarantined)
        );
    }
}

#[tokio::test]
async fn an_outcome_that_no_node_tells_frees_its_account_and_calls_staff() {
    let world = World::start(1).await;
    let row = world.send("key").await;
    let hash = row.tx_hash.unwrap();
    world.nodes[0].when_asked(move |_, method, params| match method {
        "getEvents" => Some(Reply::Error(-32603)),
        _ => (asked_for(method, params) == Some(hash)).then_some(Reply::Status(503)),
    });
    world.close(1);
    world.expire(0);
    world.pass().await;
    assert_eq!(
        world.stands(row.id).await,
        (Status::Confirming, Verdict::Pending)
    );
    world.expire(tender::domain::plan::LOOKING_S);
    world.pass().await;
    assert_eq!(
        world.stands(row.id).await,
        (Status::Confirming, Verdict::Indeterminate)
    );
    let account = row.pair.unwrap().account;
    assert_eq!(world.channel(account).await.state, ChannelState::Free);
    world.nodes[0].behaves();
    let (_, settled) = world.reconciler.look_up_indeterminate(None).await.unwrap();
    assert_eq!(settled, 1);
    assert_eq!(world.stands(row.id).await, PAID);
}

#[tokio::test]
async fn rows_of_unknown_outcome_take_turns_at_being_looked_up() {
    let world = World::start(2).await;
    let rows = [world.send("one").await, world.send("two").await];
    for row in &rows {
        let row = world.row(row.id).await;
        let event = tender::domain::submission::Event::ConsumerBeyondReach;
        let change = tender::ledger::Change::new(&row, event, "test");
        world.ledger.apply(change).await.unwrap();
    }
    let first = world.ledger.indeterminate(None, 1).await.unwrap();
    let after = first[0].0.id;
    let second = world.ledger.indeterminate(Some(after), 1).await.unwrap();
    assert_ne!(second[0].0.id, after);
    let none = world.ledger.indeterminate(Some(second[0].0.id), 1).await;
    assert!(none.unwrap().is_empty(), "and from the start again");
}
