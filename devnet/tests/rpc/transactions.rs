//! Looking transactions up, one by one and page by page.

use crate::common::{Key, create, root, signed, transaction, tx_hash};
use crate::support::{Served, bumped_payment, payment};
use serde_json::{Value, json};
use stellar_xdr::{
    Limits, ReadXdr, TransactionEnvelope, TransactionMeta, TransactionResult,
    TransactionResultResult,
};

fn decode<T: ReadXdr>(value: &Value) -> T {
    T::from_xdr_base64(value.as_str().unwrap(), Limits::none()).unwrap()
}

#[tokio::test]
async fn a_transaction_is_found_once_its_ledger_closed() {
    let served = Served::by_hand().await;
    let envelope = payment(1, &root(), 5);
    let hash = served.send_ok(&envelope).await;
    let waiting = served.call("getTransaction", json!({"hash": hash})).await;
    assert_eq!(waiting["status"], "NOT_FOUND");
    assert_eq!(waiting["txHash"], hash);
    assert_eq!(waiting["createdAt"], "0");
    served.node.close_ledger();
    let found = served.call("getTransaction", json!({"hash": hash})).await;
    assert_eq!(found["status"], "SUCCESS");
    assert_eq!(found["txHash"], hash);
    assert_eq!(found["ledger"], 11);
    assert_eq!(found["createdAt"], "1000001");
    assert_eq!(found["applicationOrder"], 1);
    assert_eq!(found["feeBump"], false);
    assert_eq!(
        decode::<TransactionEnvelope>(&found["envelopeXdr"]),
        envelope
    );
    let result: TransactionResult = decode(&found["resultXdr"]);
    assert_eq!(result.fee_charged, 100);
    let TransactionMeta::V4(meta) = decode(&found["resultMetaXdr"]) else {
        panic!("meta of version 4");
    };
    let events = &found["events"];
    assert_eq!(
        events["transactionEventsXdr"].as_array().unwrap().len(),
        meta.events.len()
    );
    let contract_events = events["contractEventsXdr"].as_array().unwrap();
    assert_eq!(contract_events.len(), meta.operations.len());
    assert_eq!(
        contract_events[0].as_array().unwrap().len(),
        meta.operations[0].events.len()
    );
}

#[tokio::test]
async fn a_fee_bump_is_found_by_both_hashes_and_answers_with_the_outer_one() {
    let served = Served::by_hand().await;
    let payee = Key::named("payee");
    served.create(1, &[&payee]).await;
    let outer = served.send_ok(&bumped_payment(2, &payee, 5)).await;
    let inner = transaction(&root(), 2, 100, vec![crate::common::pay(&payee, 5)]);
    let inner = hex::encode(tx_hash(&inner).0);
    served.node.close_ledger();
    let by_outer = served.call("getTransaction", json!({"hash": outer})).await;
    let mut by_inner = served.call("getTransaction", json!({"hash": inner})).await;
    assert_eq!(by_outer["status"], "SUCCESS");
    assert_eq!(by_outer["feeBump"], true);
    assert_eq!(by_inner["txHash"], inner);
    assert_eq!(by_outer["txHash"], outer);
    by_inner["txHash"] = outer.as_str().into();
    assert_eq!(by_inner, by_outer);
    let result: TransactionResult = decode(&by_outer["resultXdr"]);
    let TransactionResultResult::TxFeeBumpInnerSuccess(pair) = result.result else {
        panic!("a fee-bump's result");
    };
    assert_eq!(hex::encode(pair.transaction_hash.0), inner);
    let page = served
        .call("getTransactions", json!({"startLedger": 12}))
        .await;
    let transactions = page["transactions"].as_array().unwrap();
    assert_eq!(transactions.len(), 1, "one entry, not one for each hash");
    assert_eq!(transactions[0]["txHash"], outer);
}

#[tokio::test]
async fn failing_in_a_ledger_is_failed_and_not_an_error() {
    let served = Served::by_hand().await;
    let nobody = Key::named("nobody");
    let hash = served.send_ok(&payment(1, &nobody, 5)).await;
    served.node.close_ledger();
    let found = served.call("getTransaction", json!({"hash": hash})).await;
    assert_eq!(found["status"], "FAILED");
    assert_eq!(found["events"]["contractEventsXdr"], json!([]));
    let result: TransactionResult = decode(&found["resultXdr"]);
    assert!(matches!(
        result.result,
        TransactionResultResult::TxFailed(_)
    ));
}

#[tokio::test]
async fn a_refusal_carries_its_result() {
    let served = Served::by_hand().await;
    let refused = served.send(&payment(7, &root(), 1)).await;
    assert_eq!(refused["status"], "ERROR");
    let result: TransactionResult = decode(&refused["errorResultXdr"]);
    assert!(matches!(result.result, TransactionResultResult::TxBadSeq));
}

/// Accounts a to f, each paying in both of two ledgers: 12 transactions.
async fn busy() -> Served {
    let served = Served::by_hand().await;
    let keys = ["a", "b", "c", "d", "e", "f"].map(Key::named);
    served.create(1, &keys.each_ref()).await;
    for ledger in 1..=2 {
        for key in &keys {
            let tx = transaction(
                key,
                (11 << 32) + ledger,
                100,
                vec![crate::common::pay(&root(), 1)],
            );
            served
                .send_ok(&TransactionEnvelope::Tx(signed(&tx, &[key])))
                .await;
        }
        served.node.close_ledger();
    }
    served
}

fn places(page: &Value) -> Vec<(u64, u64)> {
    let transactions = page["transactions"].as_array().unwrap();
    transactions
        .iter()
        .map(|tx| {
            (
                tx["ledger"].as_u64().unwrap(),
                tx["applicationOrder"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps_or_repeats() {
    let served = busy().await;
    let all = served
        .call("getTransactions", json!({"startLedger": 12}))
        .await;
    let expected: Vec<_> = [12, 13]
        .into_iter()
        .flat_map(|ledger| (1..=6).map(move |order| (ledger, order)))
        .collect();
    assert_eq!(places(&all), expected);
    assert_eq!(all["transactions"][0]["createdAt"], 1_000_002);
    let mut seen = Vec::new();
    let mut params = json!({"startLedger": 12, "pagination": {"limit": 5}});
    let cursors = ["51539628033", "55834591233", "55834599425"];
    for cursor in cursors {
        let page = served.call("getTransactions", params).await;
        seen.extend(places(&page));
        assert_eq!(page["cursor"], cursor);
        params = json!({"pagination": {"cursor": cursor, "limit": 5}});
    }
    assert_eq!(seen, expected);
    let end = served.call("getTransactions", params.clone()).await;
    assert_eq!(places(&end), []);
    assert_eq!(end["cursor"], cursors[2], "polling at the end stays there");
    let tx = transaction(&root(), 2, 100, vec![create(&Key::named("g"), 10_000_000)]);
    served
        .send_ok(&TransactionEnvelope::Tx(signed(&tx, &[&root()])))
        .await;
    served.node.close_ledger();
    let next = served.call("getTransactions", params).await;
    assert_eq!(places(&next), [(14, 1)]);
}
