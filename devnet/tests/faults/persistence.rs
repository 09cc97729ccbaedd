//! A chain that goes on after a restart.

use crate::common::{Key, PASSPHRASE, config, create, root, signed, transaction};
use crate::support::{base64, bumped_payment, payment};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use stellar_xdr::{Hash, TransactionEnvelope};
use tempfile::TempDir;
use tender_devnet::config::NetworkConfig;
use tender_devnet::network::Network;
use tender_devnet::node::{DevNode, Pace};
use tender_devnet::store::StateError;

fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain");
    (directory, path)
}

fn open(path: &Path) -> Result<DevNode, StateError> {
    DevNode::open(config(), Pace::ByHand, path)
}

fn send(node: &DevNode, envelope: &TransactionEnvelope) -> String {
    let params = json!({"transaction": base64(envelope)});
    let answer = node.call("sendTransaction", params).unwrap();
    assert_eq!(answer["status"], "PENDING", "{answer}");
    answer["hash"].as_str().unwrap().to_owned()
}

fn last_hash(network: &Network) -> Hash {
    network.ledgers().last().unwrap().hash.clone()
}

/// A chain of some ledgers, and the hash of one of its transactions.
fn lived(path: &Path) -> (Hash, String) {
    let node = open(path).unwrap();
    let keys = ["alice", "bob"].map(Key::named);
    let accounts = keys.iter().map(|key| create(key, 100_000_000)).collect();
    let tx = transaction(&root(), 1, 200, accounts);
    send(&node, &TransactionEnvelope::Tx(signed(&tx, &[&root()])));
    node.close_ledger();
    node.close_ledger();
    let hash = send(&node, &bumped_payment(2, &keys[0], 5));
    node.close_ledger();
    // What waits is not kept.
    send(&node, &payment(3, &keys[1], 5));
    (node.inspect(last_hash), hash)
}

fn say(node: &DevNode, method: &str, params: Value) -> Value {
    node.call(method, params).unwrap()
}

#[test]
fn entries_ledgers_and_transactions_are_there_again() {
    let (_directory, path) = directory();
    let (hash, transaction) = lived(&path);
    let said = |node: &DevNode| {
        [
            say(node, "getTransaction", json!({"hash": transaction})),
            say(node, "getTransactions", json!({"startLedger": 10})),
            say(node, "getEvents", json!({"startLedger": 10})),
            say(node, "getLedgers", json!({"startLedger": 10})),
            say(
                node,
                "getLedgerEntries",
                json!({"keys": [base64(&root().entry_key())]}),
            ),
        ]
    };
    let node = open(&path).unwrap();
    assert_eq!(node.inspect(last_hash), hash);
    assert_eq!(node.inspect(Network::pending), 0);
    let first = said(&node);
    assert_eq!(first[0]["status"], "SUCCESS");
    assert_eq!(first[1]["transactions"].as_array().unwrap().len(), 2);
    send(&node, &payment(3, &Key::named("bob"), 5));
    assert_eq!(node.close_ledger().sequence, 14);
    let (grown, hash) = (said(&node), node.inspect(last_hash));
    drop(node);
    let node = open(&path).unwrap();
    assert_eq!(node.inspect(last_hash), hash);
    assert_eq!(said(&node), grown);
}

#[test]
fn a_chain_keeps_its_own_beginning() {
    let (_directory, path) = directory();
    let (hash, _) = lived(&path);
    let later = NetworkConfig {
        start_ledger: 99,
        start_close_time: 5_000_000,
        ..config()
    };
    let node = DevNode::open(later, Pace::ByHand, &path).unwrap();
    assert_eq!(node.inspect(last_hash), hash);
}

#[test]
fn the_chain_of_another_network_is_refused() {
    let (_directory, path) = directory();
    lived(&path);
    let other = |config, name: &str| {
        let refused = DevNode::open(config, Pace::ByHand, &path).unwrap_err();
        assert!(matches!(refused, StateError::OtherNetwork(_)), "{refused}");
        assert!(refused.to_string().contains(name), "{refused}");
    };
    other(
        NetworkConfig {
            passphrase: format!("{PASSPHRASE}!"),
            ..config()
        },
        "passphrase",
    );
    other(
        NetworkConfig {
            base_fee: 200,
            ..config()
        },
        "base fee",
    );
    other(
        NetworkConfig {
            history_window: 7,
            ..config()
        },
        "history window",
    );
    fs::write(&path, "something else entirely\n").unwrap();
    assert!(matches!(open(&path), Err(StateError::NotAState)));
    fs::write(&path, "something else entirely").unwrap();
    assert!(matches!(open(&path), Err(StateError::NotAState)));
}

#[test]
fn a_line_that_was_cut_off_is_forgotten_and_written_anew() {
    let (_directory, path) = directory();
    lived(&path);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let node = open(&path).unwrap();
    assert_eq!(node.inspect(Network::latest_ledger), 12);
    node.close_ledger();
    drop(node);
    assert_eq!(open(&path).unwrap().inspect(Network::latest_ledger), 13);
    // A file that was cut off in its first line has no chain.
    fs::write(&path, &whole[..20]).unwrap();
    assert_eq!(open(&path).unwrap().inspect(Network::latest_ledger), 10);
}

#[test]
fn a_ledger_that_was_changed_is_noticed() {
    let (_directory, path) = directory();
    lived(&path);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (damaged, line) in [
        (
            text.replace("\"baseFee\":100,\"hash\"", "\"baseFee\":101,\"hash\""),
            2,
        ),
        ([lines[0], lines[1], lines[3], ""].join("\n"), 3),
        (format!("{text}nonsense\n"), 5),
    ] {
        fs::write(&path, damaged).unwrap();
        let refused = open(&path).unwrap_err();
        assert!(
            matches!(refused, StateError::Damaged { line: found, .. } if found == line),
            "{refused}"
        );
    }
}

#[test]
fn two_processes_do_not_share_a_file() {
    let (_directory, path) = directory();
    let node = open(&path).unwrap();
    assert!(matches!(open(&path), Err(StateError::InUse)));
    drop(node);
    open(&path).unwrap();
}
