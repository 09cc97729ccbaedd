//! Reading ledgers page by page: what was covered, and what was not.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tender::domain::classify::Fault;
use tender::domain::ids::{AccountId, Pair, TxHash};
use tender::domain::key::KeyTag;
use tender::domain::operation::{Destination, Operation, Payment};
use tender::stellar::effect::{self, Effect};
use tender::stellar::envelope::{Recipe, build};
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::{Consumer, EventCursor, Watch};
use tender::stellar::signer::Signer;

use crate::support::{Reply, Server};

/// Ledgers that the server keeps.
pub const OLDEST: u32 = 10;
pub const LATEST: u32 = 20;
/// `txBAD_SEQ`.
const BAD_SEQUENCE: &str = "AAAAAAAAAGT////7AAAAAA==";

fn network() -> NetworkId {
    NetworkId::new("Standalone Network ; February 2017")
}

fn channel() -> Signer {
    Signer::from_seed(&[1; 32])
}

pub fn pair(sequence: i64) -> Pair {
    Pair {
        account: channel().account(),
        sequence,
    }
}

fn operation() -> Operation {
    Operation::Payment(Payment {
        destination: Destination {
            account: AccountId([9; 32]),
            muxed_id: None,
        },
        asset: "native".parse().unwrap(),
        amount: "1".parse().unwrap(),
        memo: None,
    })
}

pub async fn envelope(sequence: i64) -> (String, TxHash) {
    let (network, channel, operation) = (network(), channel(), operation());
    let recipe = Recipe {
        network: &network,
        pair: pair(sequence),
        channel: &channel,
        treasury: &channel,
        operation: &operation,
        tag: KeyTag(42),
        fee: 100,
        max_time: 1_800_000_000,
    };
    let built = build(recipe).await.unwrap();
    (built.xdr, built.hash)
}

/// A server of the transactions of ledgers 10 to 20, given as (ledger, item), which pages like the real one.
pub async fn ledgers(items: Vec<(u32, Value)>) -> Server {
    Server::start(move |method, params| match method {
        "getHealth" => Reply::Result(json!({
            "status": "healthy",
            "latestLedger": LATEST,
            "oldestLedger": OLDEST,
            "ledgerRetentionWindow": 11,
        })),
        "getTransactions" => page(&items, params),
        other => panic!("{other}"),
    })
    .await
}

pub fn page(items: &[(u32, Value)], params: &Value) -> Reply {
    let after = match params.get("startLedger") {
        Some(ledger) => {
            let ledger = u32::try_from(ledger.as_u64().unwrap()).unwrap();
            if !(OLDEST..=LATEST).contains(&ledger) {
                return Reply::Error(-32600);
            }
            items.iter().filter(|(at, _)| *at < ledger).count()
        }
        None => params["pagination"]["cursor"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap(),
    };
    let limit = usize::try_from(params["pagination"]["limit"].as_u64().unwrap()).unwrap();
    assert!(limit <= 200, "the real one refuses more");
    let page = items.iter().skip(after).take(limit);
    let page: Vec<_> = page.map(|(_, item)| item.clone()).collect();
    Reply::Result(json!({
        "cursor": (after + page.len()).to_string(),
        "transactions": page,
        "latestLedger": LATEST,
        "latestLedgerCloseTimestamp": 1_767_225_660,
        "oldestLedger": OLDEST,
        "oldestLedgerCloseTimestamp": 1_767_225_600,
    }))
}

pub fn item(ledger: u32, status: &str, envelope: &str, result: Option<&str>) -> (u32, Value) {
    let item = json!({
        "status": status,
        "txHash": "00",
        "ledger": ledger,
        "createdAt": 1_767_225_655,
        "envelopeXdr": envelope,
        "resultXdr": result,
    });
    (ledger, item)
}

#[expect(clippy::unnecessary_wraps, reason = "compared with results")]
pub fn not_seen(read_to: u32, whole: bool) -> Result<Consumer, Fault> {
    Ok(Consumer::NotSeen { read_to, whole })
}

#[tokio::test]
async fn replicas_that_lag_one_after_the_other_cut_nothing_off_the_range() {
    // The first one has not closed the ledger; the second keeps it, and has not indexed it.
    let replicas = Mutex::new(vec![
        Reply::Result(json!({
            "cursor": "0", "transactions": [], "latestLedger": LATEST - 3,
            "latestLedgerCloseTimestamp": 1_767_225_660, "oldestLedger": OLDEST,
            "oldestLedgerCloseTimestamp": 1_767_225_600,
        })),
        Reply::Error(-32600),
    ]);
    let server = Server::start(move |method, _| match method {
        "getTransactions" => replicas.lock().unwrap().pop().unwrap(),
        "getHealth" => Reply::Result(json!({
            "status": "healthy",
            "latestLedger": LATEST,
            "oldestLedger": OLDEST,
            "ledgerRetentionWindow": 11,
        })),
        other => panic!("{other}"),
    })
    .await;
    let seen = server.client().consumer(pair(1), LATEST, LATEST).await;
    assert_eq!(seen, not_seen(LATEST - 1, true), "it may be there yet");
}

#[tokio::test]
async fn the_consumer_is_found_behind_many_pages_with_all_that_it_says() {
    let (other, _) = envelope(1).await;
    let (ours, hash) = envelope(7).await;
    let mut items: Vec<_> = (0..250)
        .map(|_| item(12, "SUCCESS", &other, None))
        .collect();
    items.push(item(13, "FAILED", &ours, None));
    let server = ledgers(items).await;
    let found = server.client().consumer(pair(7), 11, 20).await.unwrap();
    let Consumer::Found(consumed) = found else {
        panic!("{found:?}")
    };
    assert_eq!((consumed.ledger, consumed.success), (13, false));
    assert_eq!(consumed.inspected.hash, hash);
    assert_eq!(consumed.inspected.tag, Some(KeyTag(42)));
    let expected = effect::expected(&network(), channel().account(), &operation());
    assert_eq!(consumed.inspected.effects, [expected]);
}

#[tokio::test]
async fn a_scan_says_whether_it_covered_its_range() {
    let (other, _) = envelope(1).await;
    let (ours, _) = envelope(7).await;
    let quiet = item(12, "SUCCESS", &other, None);
    let late = item(19, "SUCCESS", &ours, None);
    let table = [
        (11, 18, 18, true, "the whole range was read, and no further"),
        (10, 18, 18, true, "from the oldest ledger on"),
        (9, 18, 18, false, "the node no longer has its beginning"),
        (2, 5, 5, false, "the node has nothing of it"),
        (25, 30, 24, true, "the node is not there yet"),
    ];
    let server = ledgers(vec![quiet.clone(), late]).await;
    for (from, to, read_to, whole, why) in table {
        let scanned = server.client().consumer(pair(7), from, to).await;
        assert_eq!(scanned, not_seen(read_to, whole), "{why}");
    }
    let behind = ledgers(vec![quiet]).await;
    let scanned = behind.client().consumer(pair(7), 11, 21).await;
    assert_eq!(scanned, not_seen(LATEST, true), "as far as the node is");
}

#[tokio::test]
async fn a_pair_is_found_in_the_part_that_a_node_still_has() {
    let (ours, _) = envelope(7).await;
    let server = ledgers(vec![item(12, "SUCCESS", &ours, None)]).await;
    let found = server.client().consumer(pair(7), 2, 20).await.unwrap();
    assert!(matches!(found, Consumer::Found(_)), "{found:?}");
}

#[tokio::test]
async fn what_did_not_use_the_pair_is_not_its_consumer_and_what_cannot_be_read_may_be() {
    let (ours, _) = envelope(7).await;
    let refused = item(12, "FAILED", &ours, Some(BAD_SEQUENCE));
    let unreadable = item(13, "SUCCESS", "AAAA", None);
    let server = ledgers(vec![refused.clone()]).await;
    let scanned = server.client().consumer(pair(7), 11, 20).await;
    assert_eq!(scanned, not_seen(20, true));
    let server = ledgers(vec![refused, unreadable]).await;
    let scanned = server.client().consumer(pair(7), 11, 20).await;
    assert_eq!(scanned, not_seen(20, false));
}

#[tokio::test]
async fn effects_are_asked_for_from_a_ledger_once_and_from_the_cursor_after_that() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&asked);
    let server = Server::start(move |_, params| {
        let position = (
            params["startLedger"].clone(),
            params["pagination"]["cursor"].clone(),
        );
        record.lock().unwrap().push(position);
        Reply::Result(json!({
            "events": null,
            "cursor": "0000000085899345920-0000000000",
            "latestLedger": LATEST,
            "latestLedgerCloseTime": "1767225660",
            "oldestLedger": OLDEST,
            "oldestLedgerCloseTime": "1767225600",
        }))
    })
    .await;
    let rpc = server.client();
    let watch = Watch::over(&network(), channel().account(), []);
    let first = rpc
        .effects_since(&EventCursor::Start(11), &watch)
        .await
        .unwrap();
    let second = rpc.effects_since(&first.cursor, &watch).await.unwrap();
    assert_eq!((first.effects.len(), first.full), (0, false));
    assert_eq!((second.seen.ledger, second.oldest_ledger), (LATEST, OLDEST));
    let expected = [
        (json!(11), Value::Null),
        (Value::Null, json!("0000000085899345920-0000000000")),
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_look_up_must_answer_for_the_hash_that_was_asked() {
    let server = Server::always(Reply::Result(json!({
        "status": "NOT_FOUND",
        "txHash": TxHash([2; 32]).to_string(),
        "latestLedger": LATEST,
        "latestLedgerCloseTime": "1767225660",
        "oldestLedger": OLDEST,
    })))
    .await;
    let effect: Effect = effect::expected(&network(), channel().account(), &operation());
    let rpc = server.client();
    assert!(rpc.transaction(TxHash([2; 32]), &effect).await.is_ok());
    let other = rpc.transaction(TxHash([3; 32]), &effect).await;
    assert_eq!(other, Err(Fault::Malformed));
}

#[tokio::test]
async fn accounts_are_asked_for_in_pages_that_keep_their_ledgers_apart() {
    let next = Mutex::new(100);
    let server = Server::start(move |_, params| {
        assert!(params["keys"].as_array().unwrap().len() <= 200);
        let mut ledger = next.lock().unwrap();
        *ledger += 1;
        Reply::Result(json!({ "entries": [], "latestLedger": *ledger }))
    })
    .await;
    let accounts: Vec<_> = (0..=255)
        .flat_map(|low| [AccountId([low; 32]), AccountId([low ^ 1; 32])])
        .collect();
    let pages = server.client().accounts(&accounts).await.unwrap();
    let shape: Vec<_> = pages
        .iter()
        .map(|page| (page.ledger, page.accounts.len()))
        .collect();
    assert_eq!(shape, [(101, 200), (102, 200), (103, 112)]);
    assert_eq!(server.client().accounts(&[]).await, Ok(vec![]));
    let unread = Server::always(Reply::Result(json!({ "latestLedger": 5 }))).await;
    let missing = unread.client().account_sequence(AccountId([1; 32])).await;
    assert_eq!(
        missing,
        Err(Fault::Malformed),
        "no list is no proof of absence"
    );
}
