//! What the client makes of the words of a node.

use crate::support::{Reply, Server};
use serde_json::{Value, json};
use tender::domain::classify::{Fault, Refusal, SendAnswer};
use tender::domain::codes::{Failure, OpFailure, PaymentCode, TxCode};
use tender::domain::ids::TxHash;
use tender::stellar::rpc::{Seen, Sent};

const HASH: TxHash = TxHash([0xab; 32]);
/// `txINSUFFICIENT_FEE`, 2000 would have been enough.
const TOO_LOW: &str = "AAAAAAAAB9D////3AAAAAA==";
/// `txFEE_BUMP_INNER_FAILED` around `txFAILED/PAYMENT_UNDERFUNDED`.
const UNDERFUNDED: &str = "AAAAAAAAAMj////ze67eiKWxIKpe/k2CXFFmJEDsqdRDKdoUcSaGgjma4dgAAAAAAAAAAP////8AAAABAAAAAAAAAAH////+AAAAAAAAAAA=";
const SUCCESS: &str = "AAAAAAAAAGQAAAAAAAAAAQAAAAAAAAABAAAAAAAAAAA=";

fn answer(status: &str) -> Value {
    json!({
        "status": status,
        "hash": HASH.to_string(),
        "latestLedger": 9,
        "latestLedgerCloseTime": "1767225660",
    })
}

async fn send(answer: Value) -> Sent {
    let server = Server::start(move |method, params| {
        assert_eq!(method, "sendTransaction");
        assert_eq!(*params, json!({ "transaction": "AAAA" }));
        Reply::Result(answer.clone())
    })
    .await;
    server.client().send_transaction(HASH, "AAAA").await
}

#[tokio::test]
async fn statuses_are_read_with_the_ledger_they_came_from() {
    let seen = Some(Seen {
        ledger: 9,
        close_time: 1_767_225_660,
    });
    let table = [
        ("PENDING", SendAnswer::Pending),
        ("DUPLICATE", SendAnswer::Duplicate),
        ("TRY_AGAIN_LATER", SendAnswer::TryAgainLater),
        ("FILTERED", SendAnswer::Unknown(Fault::UnknownStatus)),
        ("pending", SendAnswer::Unknown(Fault::UnknownStatus)),
        ("", SendAnswer::Unknown(Fault::UnknownStatus)),
        ("ERROR", SendAnswer::Unknown(Fault::Malformed)),
    ];
    for (status, expected) in table {
        let sent = send(answer(status)).await;
        assert_eq!(sent.answer, expected, "{status}");
        assert_eq!(sent.seen, seen, "{status}");
    }
}

#[tokio::test]
async fn refusals_carry_their_code_and_the_fee_they_name() {
    let refused = |failure, fee_charged| {
        SendAnswer::Refused(Refusal {
            failure,
            fee_charged,
        })
    };
    let underfunded = Failure::Op(OpFailure::Payment(PaymentCode::Underfunded));
    let table = [
        (TOO_LOW, refused(Failure::Tx(TxCode::InsufficientFee), 2000)),
        (UNDERFUNDED, refused(underfunded, 200)),
        (SUCCESS, SendAnswer::Unknown(Fault::Malformed)),
        ("AAAA", SendAnswer::Unknown(Fault::Malformed)),
    ];
    for (result, expected) in table {
        let mut error = answer("ERROR");
        error["errorResultXdr"] = json!(result);
        assert_eq!(send(error).await.answer, expected, "{result}");
    }
}

#[tokio::test]
async fn an_answer_about_another_transaction_says_nothing() {
    for status in ["PENDING", "DUPLICATE", "ERROR"] {
        let mut other = answer(status);
        other["hash"] = json!(TxHash([0xcd; 32]).to_string());
        other["errorResultXdr"] = json!(TOO_LOW);
        let sent = send(other).await;
        assert_eq!(sent.answer, SendAnswer::Unknown(Fault::Malformed));
        assert_eq!(sent.seen, None);
    }
}

#[tokio::test]
async fn the_last_ledger_is_read_without_its_transactions_where_the_node_can() {
    let health = |close_time: Option<&str>| {
        let mut health = json!({ "status": "healthy", "latestLedger": 9, "oldestLedger": 2 });
        if let Some(close_time) = close_time {
            health["latestLedgerCloseTime"] = json!(close_time);
        }
        Reply::Result(health)
    };
    let whole = Reply::Result(json!({ "sequence": 9, "closeTime": "60", "metadataXdr": "AAAA" }));
    let table = [
        (health(Some("60")), Reply::Close, "told at once"),
        (health(None), whole.clone(), "an older version"),
        (Reply::Error(-32603), whole, "its last ledger is old"),
    ];
    for (health, whole, why) in table {
        let server = Server::start(move |method, _| match method {
            "getHealth" => health.clone(),
            _ => whole.clone(),
        })
        .await;
        let seen = Seen {
            ledger: 9,
            close_time: 60,
        };
        assert_eq!(server.client().latest().await, Ok(seen), "{why}");
    }
}
