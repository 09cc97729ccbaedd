//! Ledgers, their meta, and the entries of the last one.

use crate::common::{Key, root, sha256};
use crate::support::{Served, base64, payment};
use serde_json::{Value, json};
use stellar_xdr::{
    LedgerCloseMeta, LedgerEntryData, LedgerHeader, LedgerHeaderHistoryEntry, LedgerKey, Limits,
    ReadXdr, WriteXdr,
};

fn decode<T: ReadXdr>(value: &Value) -> T {
    T::from_xdr_base64(value.as_str().unwrap(), Limits::none()).unwrap()
}

#[tokio::test]
async fn ledgers_form_a_chain_and_their_meta_tells_what_happened() {
    let served = Served::by_hand().await;
    let hash = served.send_ok(&payment(1, &root(), 5)).await;
    served.node.close_ledger();
    served.node.close_ledger();
    let page = served.call("getLedgers", json!({"startLedger": 10})).await;
    let ledgers = page["ledgers"].as_array().unwrap();
    assert_eq!(ledgers.len(), 3);
    assert_eq!(page["cursor"], "12");
    let mut previous: Option<LedgerHeaderHistoryEntry> = None;
    for (ledger, sequence) in ledgers.iter().zip(10u32..) {
        let header: LedgerHeaderHistoryEntry = decode(&ledger["headerXdr"]);
        assert_eq!(ledger["sequence"], sequence);
        assert_eq!(header.header.ledger_seq, sequence);
        assert_eq!(ledger["hash"], hex::encode(header.hash.0));
        let bytes = header.header.to_xdr(Limits::none()).unwrap();
        assert_eq!(sha256(&[&bytes]), header.hash);
        let close_time = header.header.scp_value.close_time.0;
        assert_eq!(ledger["ledgerCloseTime"], close_time.to_string());
        if let Some(previous) = previous {
            assert_eq!(header.header.previous_ledger_hash, previous.hash);
        }
        previous = Some(header);
    }
    let LedgerCloseMeta::V2(meta) = decode(&ledgers[1]["metadataXdr"]) else {
        panic!("meta of version 2");
    };
    let set = meta.tx_set.to_xdr(Limits::none()).unwrap();
    let header = &meta.ledger_header.header;
    assert_eq!(sha256(&[&set]), header.scp_value.tx_set_hash);
    assert_eq!(meta.tx_processing.len(), 1);
    let tx = &meta.tx_processing[0];
    assert_eq!(hex::encode(tx.result.transaction_hash.0), hash);
    assert!(!tx.fee_processing.0.is_empty());
}

#[tokio::test]
async fn pages_of_ledgers_follow_each_other() {
    let served = Served::by_hand().await;
    for _ in 0..4 {
        served.node.close_ledger();
    }
    let mut seen = Vec::new();
    let mut params = json!({"startLedger": 10, "pagination": {"limit": 2}});
    for cursor in ["11", "13", "14"] {
        let page = served.call("getLedgers", params).await;
        let ledgers = page["ledgers"].as_array().unwrap();
        seen.extend(ledgers.iter().map(|l| l["sequence"].as_u64().unwrap()));
        assert_eq!(page["cursor"], cursor);
        params = json!({"pagination": {"cursor": cursor, "limit": 2}});
    }
    assert_eq!(seen, [10, 11, 12, 13, 14]);
}

#[tokio::test]
async fn the_latest_ledger_is_the_last_of_all() {
    let served = Served::by_hand().await;
    served.node.close_ledger_at(1_000_500);
    let latest = served.call("getLatestLedger", json!({})).await;
    assert_eq!(latest["sequence"], 11);
    assert_eq!(latest["closeTime"], "1000500");
    let header: LedgerHeader = decode(&latest["headerXdr"]);
    assert_eq!(header.ledger_seq, 11);
    assert_eq!(latest["protocolVersion"], header.ledger_version);
    let ledgers = served.call("getLedgers", json!({"startLedger": 11})).await;
    assert_eq!(ledgers["ledgers"][0]["hash"], latest["id"]);
    assert_eq!(ledgers["ledgers"][0]["metadataXdr"], latest["metadataXdr"]);
}

#[tokio::test]
async fn entries_come_in_the_order_asked_for_and_missing_ones_are_left_out() {
    let served = Served::by_hand().await;
    let (payee, nobody) = (Key::named("payee"), Key::named("nobody"));
    served.create(1, &[&payee]).await;
    served.node.close_ledger();
    let keys: Vec<String> = [&payee, &nobody, &root(), &payee]
        .iter()
        .map(|key| base64(&key.entry_key()))
        .collect();
    let reply = served.call("getLedgerEntries", json!({"keys": keys})).await;
    assert_eq!(reply["latestLedger"], 12);
    let entries = reply["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["key"], keys[0]);
    assert_eq!(entries[1]["key"], keys[2]);
    assert_eq!(entries[0]["lastModifiedLedgerSeq"], 11);
    assert_eq!(decode::<LedgerKey>(&entries[0]["key"]), payee.entry_key());
    let LedgerEntryData::Account(account) = decode(&entries[0]["xdr"]) else {
        panic!("an account");
    };
    assert_eq!(account.account_id, payee.id());
    assert_eq!(account.seq_num.0, 11 << 32);
    let nothing = served.call("getLedgerEntries", json!({})).await;
    assert_eq!(nothing, json!({"entries": [], "latestLedger": 12}));
}
