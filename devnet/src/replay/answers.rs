//! What the network answers to a step, written as a trace writes it.

use super::Difference;
use super::codes::code;
use crate::entries::{extension_v2, extension_v3, num_sponsored, num_sponsoring};
use crate::history::{AppliedTransaction, ClosedLedger};
use crate::network::{Network, SubmitStatus};
use serde_json::{Map, Value, json};
use stellar_xdr::{
    Hash, LedgerEntry, LedgerEntryData, LedgerKey, Limits, TransactionMeta, TransactionResult,
    WriteXdr,
};

/// Fields of an answer.
pub type Answer = Map<String, Value>;

fn answer(value: Value) -> Answer {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

fn base64<T: WriteXdr>(value: &T) -> Result<Value, Difference> {
    value
        .to_xdr_base64(Limits::none())
        .map(Value::from)
        .map_err(|error| Difference::new("xdr", "an encodable value", error))
}

/// The answer to an envelope.
pub fn submitted(status: &SubmitStatus) -> Result<Answer, Difference> {
    Ok(answer(match status {
        SubmitStatus::Pending => json!({ "status": "PENDING" }),
        SubmitStatus::Duplicate => json!({ "status": "DUPLICATE" }),
        SubmitStatus::TryAgainLater => json!({ "status": "TRY_AGAIN_LATER" }),
        SubmitStatus::Filtered(kind) => json!({
            "status": format!("FILTERED (operation {} is not supported)", kind.name()),
        }),
        SubmitStatus::Error(result) => json!({
            "status": "ERROR",
            "error_code": code(result),
            "fee_charged": result.fee_charged.to_string(),
            "error_result_xdr": base64::<TransactionResult>(result)?,
        }),
    }))
}

/// The contents of a ledger.
pub fn applied(ledger: &ClosedLedger) -> Vec<Value> {
    let transactions = ledger.transactions.iter();
    transactions
        .map(|tx| {
            json!({
                "hash": tx.hash.to_string(),
                "code": code(&tx.result),
                "fee_charged": tx.result.fee_charged.to_string(),
            })
        })
        .collect()
}

/// The answer to a look-up of a transaction.
pub fn transaction(network: &Network, hash: &Hash) -> Result<Answer, Difference> {
    let latest = network.latest_ledger();
    let found = network.find_transaction(hash).and_then(|(ledger, index)| {
        let ledger = network.ledger(ledger)?;
        Some((ledger, ledger.transactions.get(index)?))
    });
    let Some((ledger, tx)) = found else {
        return Ok(answer(
            json!({ "status": "NOT_FOUND", "latest_ledger": latest }),
        ));
    };
    Ok(answer(json!({
        "status": if tx.is_success() { "SUCCESS" } else { "FAILED" },
        "latest_ledger": latest,
        "ledger": ledger.sequence(),
        "created_at": ledger.close_time(),
        "fee_bump": tx.is_fee_bump(),
        "code": code(&tx.result),
        "fee_charged": tx.result.fee_charged.to_string(),
        "envelope_xdr": base64(&tx.envelope)?,
        "result_xdr": base64(&tx.result)?,
        "result_meta_xdr": base64(&tx.meta)?,
        "events": events(tx)?,
    })))
}

fn events(tx: &AppliedTransaction) -> Result<Value, Difference> {
    let TransactionMeta::V4(meta) = &tx.meta else {
        return Err(Difference::new("result_meta_xdr", "V4", tx.meta.name()));
    };
    let of_transaction: Vec<Value> = meta.events.iter().map(base64).collect::<Result<_, _>>()?;
    let of_operations: Vec<Value> = meta
        .operations
        .iter()
        .map(|operation| operation.events.iter().map(base64).collect())
        .collect::<Result<_, _>>()?;
    Ok(json!({
        "transaction_events_xdr": of_transaction,
        "contract_events_xdr": of_operations,
    }))
}

/// The answer to a look at an entry.
pub fn entry(network: &Network, key: &LedgerKey) -> Result<Answer, Difference> {
    let latest = network.latest_ledger();
    let Some(entry) = network.entry(key) else {
        return Ok(answer(json!({ "found": false, "latest_ledger": latest })));
    };
    let mut fields = answer(json!({
        "found": true,
        "latest_ledger": latest,
        "last_modified_ledger": entry.last_modified_ledger_seq,
        "entry_xdr": base64(entry)?,
    }));
    fields.extend(details(entry));
    Ok(fields)
}

fn details(entry: &LedgerEntry) -> Answer {
    match &entry.data {
        LedgerEntryData::Account(account) => {
            let stamp = extension_v3(account);
            let sponsorship = extension_v2(account).is_some();
            answer(json!({
                "seq_num": account.seq_num.0.to_string(),
                "balance": account.balance.to_string(),
                "sub_entries": account.num_sub_entries,
                "seq_ledger": stamp.map(|v3| v3.seq_ledger),
                "seq_time": stamp.map(|v3| v3.seq_time.0),
                "sponsoring": sponsorship.then(|| num_sponsoring(account)),
                "sponsored": sponsorship.then(|| num_sponsored(account)),
            }))
        }
        LedgerEntryData::Trustline(line) => answer(json!({
            "balance": line.balance.to_string(),
            "limit": line.limit.to_string(),
            "flags": line.flags,
        })),
        _ => Answer::new(),
    }
}
