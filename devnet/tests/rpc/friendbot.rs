//! The friendbot: real transactions, many at once, and its refusals.

use crate::common::{Key, config};
use crate::support::{Served, base64};
use serde_json::{Value, json};
use std::time::Duration;
use stellar_xdr::{LedgerEntryData, LedgerKey, LedgerKeyAccount};
use tender_devnet::friendbot::{FriendbotError, STARTING_BALANCE, friendbot_account};
use tender_devnet::network::Network;
use tender_devnet::node::{DevNode, Pace};

fn fast() -> Pace {
    Pace::Every(Duration::from_millis(20))
}

fn address(key: &Key) -> String {
    let key = stellar_strkey::ed25519::PublicKey(key.public());
    key.to_string().as_str().to_owned()
}

async fn ask(served: &Served, query: &str) -> (u16, Value) {
    let url = format!("{}/friendbot{query}", served.url);
    let response = served.http.get(url).send().await.unwrap();
    let status = response.status().as_u16();
    let kind = response.headers()["content-type"].clone();
    let expected = match status {
        200 => "application/json",
        _ => "application/problem+json",
    };
    assert_eq!(kind, expected);
    (status, response.json().await.unwrap())
}

fn balance(node: &DevNode, key: &LedgerKey) -> i64 {
    node.inspect(|network| match &network.entry(key).unwrap().data {
        LedgerEntryData::Account(account) => account.balance,
        _ => unreachable!("the key of an account"),
    })
}

#[tokio::test]
async fn an_account_is_created_by_a_transaction() {
    let served = Served::start(config(), fast()).await;
    let key = Key::named("newcomer");
    let (status, reply) = ask(&served, &format!("?addr={}", address(&key))).await;
    assert_eq!(status, 200, "{reply}");
    assert_eq!(balance(&served.node, &key.entry_key()), STARTING_BALANCE);
    let found = json!({"hash": reply["hash"]});
    let found = served.call("getTransaction", found).await;
    assert_eq!(found["status"], "SUCCESS");
    assert_eq!(found["ledger"], reply["ledger"]);
    let entries = json!({"keys": [base64(&key.entry_key())]});
    let entries = served.call("getLedgerEntries", entries).await;
    assert_eq!(entries["entries"].as_array().unwrap().len(), 1);
    let (status, problem) = ask(&served, &format!("?addr={}", address(&key))).await;
    assert_eq!(status, 400);
    assert_eq!(problem["status"], 400);
    assert!(problem["detail"].as_str().unwrap().contains("already"));
}

#[tokio::test]
async fn bad_addresses_are_refused() {
    let served = Served::by_hand().await;
    let muxed = "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ";
    for query in ["", "?addr=", "?addr=GABC", &format!("?addr={muxed}")] {
        let (status, problem) = ask(&served, query).await;
        assert_eq!(status, 400, "{query}");
        assert!(problem["detail"].as_str().unwrap().contains("address"));
    }
}

#[tokio::test]
async fn many_at_once_share_transactions() {
    let served = Served::start(config(), fast()).await;
    let keys: Vec<Key> = (0..150)
        .map(|number| Key::named(&format!("newcomer {number}")))
        .collect();
    let mut asking = tokio::task::JoinSet::new();
    for key in &keys {
        let (node, address) = (served.node.clone(), address(key));
        asking.spawn(async move { node.fund(&address).await });
    }
    let answers = asking.join_all().await;
    let hashes: std::collections::HashSet<_> = answers
        .into_iter()
        .map(|answer| answer.unwrap().hash)
        .collect();
    assert!(hashes.len() <= 20, "{} transactions", hashes.len());
    for key in &keys {
        assert_eq!(balance(&served.node, &key.entry_key()), STARTING_BALANCE);
    }
}

#[tokio::test]
async fn of_two_who_ask_for_one_address_one_is_refused() {
    let node = DevNode::start(config(), Pace::ByHand);
    let address = address(&Key::named("newcomer"));
    let ask = || {
        let (node, address) = (node.clone(), address.clone());
        tokio::spawn(async move { node.fund(&address).await })
    };
    let (first, second) = (ask(), ask());
    let closer = node.clone();
    let closing = tokio::spawn(async move {
        loop {
            tokio::task::yield_now().await;
            closer.close_ledger();
        }
    });
    let mut answers = [first.await.unwrap(), second.await.unwrap()];
    closing.abort();
    answers.sort_by_key(Result::is_err);
    assert!(answers[0].is_ok());
    assert_eq!(answers[1], Err(FriendbotError::AlreadyFunded));
}

#[tokio::test]
async fn requests_that_wait_end_with_the_node() {
    let node = DevNode::start(config(), Pace::ByHand);
    let (asker, address) = (node.clone(), address(&Key::named("newcomer")));
    let asking = tokio::spawn(async move { asker.fund(&address).await });
    while node.inspect(Network::pending) == 0 {
        tokio::task::yield_now().await;
    }
    node.shutdown().await;
    assert_eq!(asking.await.unwrap(), Err(FriendbotError::Stopped));
}

#[tokio::test]
async fn a_network_with_its_own_state_may_have_no_friendbot() {
    let mut config = config();
    config.initial_state = tender_devnet::friendbot::initial_state(&config);
    let friendbot = LedgerKey::Account(LedgerKeyAccount {
        account_id: friendbot_account(&config),
    });
    config.initial_state.retain(|(key, _)| *key != friendbot);
    let node = DevNode::start(config, Pace::ByHand);
    let answer = node.fund(&address(&Key::named("newcomer"))).await;
    assert_eq!(answer, Err(FriendbotError::NoFunds));
}
