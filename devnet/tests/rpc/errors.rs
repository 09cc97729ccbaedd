//! What is refused, and with which code.

use crate::common::{Key, config, root};
use crate::support::{Served, base64};
use serde_json::{Value, json};
use stellar_xdr::{Hash, LedgerKey, LedgerKeyTtl};
use tender_devnet::network::Network;
use tender_devnet::node::Pace;

const INVALID_REQUEST: i64 = -32_600;

/// Code, method, parameters and a part of the message of calls that must be refused. The network has ledgers 10 to 12.
const TABLE: &str = r#"
-32601 | noSuchMethod | {} | method not found
-32601 | sendtransaction | {} | method not found
-32602 | sendTransaction | ["AAAA"] | array
-32602 | sendTransaction | "AAAA" | object
-32602 | sendTransaction | {} | invalid_xdr
-32602 | sendTransaction | {"transaction": 5} | invalid parameters
-32602 | sendTransaction | {"transaction": "AAAA"} | invalid_xdr
-32602 | sendTransaction | {"transaction": "not base64!"} | invalid_xdr
-32602 | sendTransaction | {"transaction": "", "xdrFormat": "json"} | xdrFormat
-32602 | getTransaction | {"hash": "abcd"} | unexpected hash length (4)
-32602 | getTransaction | {} | unexpected hash length (0)
-32602 | getTransaction | {"hash": "NOT_HEX"} | incorrect hash
-32602 | getTransaction | {"hash": "abcd", "xdrFormat": "xml"} | xdrFormat
-32600 | getTransactions | {} | start ledger (0)
-32600 | getTransactions | {"startLedger": 9} | oldest ledger: 10
-32600 | getTransactions | {"startLedger": 13} | latest ledger: 12
-32602 | getTransactions | {"startLedger": 10, "pagination": {"limit": 201}} | limit must not exceed 200
-32602 | getTransactions | {"startLedger": 10, "pagination": {"limit": -1}} | invalid parameters
-32602 | getTransactions | {"pagination": {"cursor": "x"}} | cursor
-32602 | getTransactions | {"pagination": {"cursor": "-5"}} | cursor
-32600 | getTransactions | {"pagination": {"cursor": "4096"}} | start ledger (0)
-32600 | getTransactions | {"startLedger": 10, "pagination": {"cursor": "42949677056"}} | cannot both
-32600 | getLedgers | {"startLedger": 13} | start ledger (13)
-32602 | getLedgers | {"startLedger": 10, "pagination": {"limit": 201}} | limit must not exceed 200
-32600 | getLedgers | {"pagination": {"cursor": "12"}} | start ledger (13)
-32600 | getLedgers | {"pagination": {"cursor": "3"}} | start ledger (4)
-32602 | getLedgers | {"pagination": {"cursor": "ten"}} | cursor
-32600 | getLedgers | {"startLedger": 10, "pagination": {"cursor": "10"}} | cannot both
-32602 | getLedgerEntries | {"keys": MANY_KEYS} | key count (201) exceeds maximum supported (200)
-32602 | getLedgerEntries | {"keys": ["AAAA"]} | at index 0
-32602 | getLedgerEntries | {"keys": "AAAA"} | invalid parameters
-32602 | getLedgerEntries | {"keys": ["TTL_KEY"]} | ttl
-32602 | getEvents | {} | startLedger must be positive
-32600 | getEvents | {"startLedger": 9} | ledger range: 10 - 12
-32600 | getEvents | {"startLedger": 13} | ledger range: 10 - 12
-32602 | getEvents | {"startLedger": 10, "pagination": {"limit": 10001}} | limit must not exceed 10000
-32602 | getEvents | {"pagination": {"cursor": "1-2-3"}} | cursor
-32600 | getEvents | {"pagination": {"cursor": "0000000000000000000-0000000000"}} | ledger range
-32602 | getEvents | {"startLedger": 10, "pagination": {"cursor": "0000000042949672960-0000000000"}} | cannot both
-32602 | getEvents | {"endLedger": 11, "pagination": {"cursor": "0000000042949672960-0000000000"}} | cannot both
-32602 | getEvents | {"startLedger": 10, "filters": [{}, {}, {}, {}, {}, {}]} | maximum 5 filters
-32602 | getEvents | {"startLedger": 10, "filters": [{"type": "diagnostic"}]} | filter 1 invalid
-32602 | getEvents | {"startLedger": 10, "filters": [{"contractIds": ["", "", "", "", "", ""]}]} | maximum 5 contract IDs
-32602 | getEvents | {"startLedger": 10, "filters": [{"contractIds": ["GABC"]}]} | contract ID 1 invalid
-32602 | getEvents | {"startLedger": 10, "filters": [{"topics": [[], [], [], [], [], []]}]} | maximum 5 topics
-32602 | getEvents | {"startLedger": 10, "filters": [{"topics": [[]]}]} | at least 1 segment
-32602 | getEvents | {"startLedger": 10, "filters": [{"topics": [["*", "*", "*", "*", "*"]]}]} | more than 4
-32602 | getEvents | {"startLedger": 10, "filters": [{"topics": [["**", "*"]]}]} | only allowed as the last
-32602 | getEvents | {"startLedger": 10, "filters": [{}, {"topics": [["***"]]}]} | filter 2 invalid: topic 1 invalid: segment 1
-32602 | getHealth | [] | array
-32602 | getNetwork | [1] | array
-32602 | getLatestLedger | {"xdrFormat": "json"} | not supported
-32602 | getFeeStats | 3 | object
"#;

fn table() -> Vec<(i64, &'static str, Value, &'static str)> {
    let ttl = base64(&LedgerKey::Ttl(LedgerKeyTtl {
        key_hash: Hash([0; 32]),
    }));
    let many_keys = json!(vec![base64(&root().entry_key()); 201]).to_string();
    TABLE
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| {
            let row: Vec<&str> = line.split(" | ").collect();
            let params = row[2]
                .replace("MANY_KEYS", &many_keys)
                .replace("TTL_KEY", &ttl)
                .replace("NOT_HEX", &"zz".repeat(32));
            let params = serde_json::from_str(&params).expect(line);
            (row[0].parse().expect(line), row[1], params, row[3])
        })
        .collect()
}

#[tokio::test]
async fn every_refusal_has_its_code_and_changes_nothing() {
    let served = Served::by_hand().await;
    served.node.close_ledger();
    served.node.close_ledger();
    for (code, method, params, part) in table() {
        let (found, message) = served.error(method, params.clone()).await;
        assert_eq!(found, code, "{method} {params}: {message}");
        assert!(message.contains(part), "{method} {params}: {message}");
    }
    assert_eq!(served.node.inspect(Network::pending), 0);
}

#[tokio::test]
async fn history_outside_of_the_window_is_forgotten() {
    let mut config = config();
    config.history_window = 3;
    let served = Served::start(config, Pace::ByHand).await;
    let hash = served.create(1, &[&Key::named("payee")]).await;
    for _ in 0..3 {
        served.node.close_ledger();
    }
    let health = served.call("getHealth", json!({})).await;
    assert_eq!(health["oldestLedger"], 12);
    assert_eq!(health["latestLedger"], 14);
    assert_eq!(health["ledgerRetentionWindow"], 3);
    let gone = served.call("getTransaction", json!({"hash": hash})).await;
    assert_eq!(gone["status"], "NOT_FOUND");
    assert_eq!(gone["oldestLedger"], 12);
    for method in ["getTransactions", "getLedgers", "getEvents"] {
        let (code, _) = served.error(method, json!({"startLedger": 11})).await;
        assert_eq!(code, INVALID_REQUEST, "{method}");
        served.call(method, json!({"startLedger": 12})).await;
    }
}
