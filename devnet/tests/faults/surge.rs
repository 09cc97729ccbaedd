//! Fees that surge.

use crate::common::{Key, LUMEN, pay, root, signed, transaction};
use crate::support::Served;
use serde_json::json;
use stellar_xdr::{Limits, ReadXdr, TransactionEnvelope, TransactionResult};
use tender_devnet::faults::{CloseFault, Rule, When};

const MIN_BID: u32 = 5000;

fn bid(key: &Key, fee: u32) -> TransactionEnvelope {
    let tx = transaction(
        key,
        (11 << 32) + 1,
        fee,
        vec![pay(&root(), 1), pay(&root(), 2)],
    );
    TransactionEnvelope::Tx(signed(&tx, &[key]))
}

/// A surge from the next ledger on, and three accounts.
async fn surging(ledgers: u32, queue_full: bool) -> (Served, [Key; 3]) {
    let served = Served::by_hand().await;
    let keys = ["low", "enough", "late"].map(Key::named);
    served.create(1, &[&keys[0], &keys[1], &keys[2]]).await;
    let surge = CloseFault::FeeSurge {
        min_bid: MIN_BID,
        ledgers,
        queue_full,
    };
    served.rules(vec![Rule::close(surge, When::Nth(1))]);
    (served, keys)
}

#[tokio::test]
async fn only_bids_that_are_high_enough_get_in_and_pay_the_least_one() {
    let (served, [low, enough, _]) = surging(2, false).await;
    let low = served.send_ok(&bid(&low, 2 * MIN_BID - 1)).await;
    let enough = served.send_ok(&bid(&enough, 3 * MIN_BID)).await;
    served.node.close_ledger();
    assert_eq!(served.look_up(&low).await["status"], "NOT_FOUND");
    let found = served.look_up(&enough).await;
    assert_eq!(found["status"], "SUCCESS");
    let result = found["resultXdr"].as_str().unwrap();
    let result = TransactionResult::from_xdr_base64(result, Limits::none()).unwrap();
    assert_eq!(result.fee_charged, i64::from(2 * MIN_BID));
    served.node.close_ledger();
    // A ledger without any of ours shows in the statistics all the same.
    let stats = served.call("getFeeStats", json!({})).await;
    assert_eq!(stats["inclusionFee"]["max"], MIN_BID.to_string());
    assert_eq!(stats["inclusionFee"]["transactionCount"], "3");
    assert_eq!(served.look_up(&low).await["status"], "NOT_FOUND");
    served.node.close_ledger();
    assert_eq!(served.look_up(&low).await["ledger"], 14);
}

#[tokio::test]
async fn a_full_queue_refuses_low_bids_and_tells_what_is_enough() {
    let (served, [low, enough, late]) = surging(3, true).await;
    served.node.close_ledger();
    let answer = served.send(&bid(&low, 2 * MIN_BID - 1)).await;
    assert_eq!(answer["status"], "ERROR");
    let result = answer["errorResultXdr"].as_str().unwrap();
    let result = TransactionResult::from_xdr_base64(result, Limits::none()).unwrap();
    assert_eq!(result.result.name(), "TxInsufficientFee");
    assert_eq!(result.fee_charged, i64::from(2 * MIN_BID));
    served.send_ok(&bid(&enough, 2 * MIN_BID)).await;
    served.node.close_ledger();
    assert_eq!(served.send(&bid(&late, 200)).await["status"], "ERROR");
    served.node.close_ledger();
    let late = transaction(&late, (11 << 32) + 1, 100, vec![pay(&root(), LUMEN / 10)]);
    let late = TransactionEnvelope::Tx(signed(&late, &[&Key::named("late")]));
    let hash = served.send_ok(&late).await;
    served.node.close_ledger();
    assert_eq!(served.look_up(&hash).await["status"], "SUCCESS");
}
