//! `getTransaction` and `getTransactions`.

use super::cursor::{Position, toid};
use super::error::RpcError;
use super::params::{Pagination, Window, check_format, encode, read};
use super::view::View;
use crate::history::{AppliedTransaction, ClosedLedger};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stellar_xdr::{Hash, TransactionMeta};

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;

#[derive(Deserialize)]
struct OneParams {
    hash: Option<String>,
    #[serde(rename = "xdrFormat")]
    format: Option<String>,
}

/// Looks a transaction up by its hash or, for a fee-bump, also by the hash of the inner transaction; the answer is the
/// outer one in both cases.
pub fn get_transaction(view: &View<'_>, params: Value) -> Result<Value, RpcError> {
    let params: OneParams = read(params)?;
    check_format(params.format.as_deref())?;
    let text = params.hash.unwrap_or_default();
    let hash = parse_hash(&text)?;
    let found = view.find_transaction(&hash);
    let window = Window::of(view);
    let mut reply = match found {
        Some((ledger, tx)) => {
            let mut reply = details(ledger, tx, &text);
            reply.insert("createdAt".into(), ledger.close_time().to_string().into());
            reply
        }
        None => not_found(&text),
    };
    let Window { oldest, latest } = window;
    reply.insert("latestLedger".into(), latest.sequence.into());
    reply.insert(
        "latestLedgerCloseTime".into(),
        latest.close_time.to_string().into(),
    );
    reply.insert("oldestLedger".into(), oldest.sequence.into());
    reply.insert(
        "oldestLedgerCloseTime".into(),
        oldest.close_time.to_string().into(),
    );
    Ok(Value::Object(reply))
}

/// The real node's encoder writes zeros where it has nothing to say.
fn not_found(hash: &str) -> Map<String, Value> {
    object(json!({
        "status": "NOT_FOUND",
        "txHash": hash,
        "applicationOrder": 0,
        "feeBump": false,
        "events": {},
        "ledger": 0,
        "createdAt": "0",
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// The hash in the parameters of a call that asks for one.
pub(crate) fn asked_hash(params: &Value) -> Option<Hash> {
    parse_hash(params.get("hash")?.as_str()?).ok()
}

fn parse_hash(text: &str) -> Result<Hash, RpcError> {
    if text.len() != 64 {
        return Err(RpcError::invalid_params(format!(
            "unexpected hash length ({})",
            text.len()
        )));
    }
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash)
        .map_err(|error| RpcError::invalid_params(format!("incorrect hash: {error}")))?;
    Ok(Hash(hash))
}

/// What both methods say about a transaction in a ledger.
fn details(ledger: &ClosedLedger, tx: &AppliedTransaction, hash: &str) -> Map<String, Value> {
    let (transaction_events, contract_events, diagnostics) = encoded_events(&tx.meta);
    let mut details = object(json!({
        "status": if tx.is_success() { "SUCCESS" } else { "FAILED" },
        "txHash": hash,
        "applicationOrder": tx.application_order,
        "feeBump": tx.is_fee_bump(),
        "envelopeXdr": encode(&tx.envelope),
        "resultXdr": encode(&tx.result),
        "resultMetaXdr": encode(&tx.meta),
        "events": {
            "transactionEventsXdr": transaction_events,
            "contractEventsXdr": contract_events,
        },
        "ledger": ledger.sequence(),
    }));
    if !diagnostics.is_empty() {
        details.insert("diagnosticEventsXdr".into(), diagnostics.into());
    }
    details
}

/// Fee events, events of each operation, and diagnostic events.
fn encoded_events(meta: &TransactionMeta) -> (Vec<String>, Vec<Vec<String>>, Vec<String>) {
    match meta {
        TransactionMeta::V4(v4) => (
            v4.events.iter().map(encode).collect(),
            v4.operations
                .iter()
                .map(|operation| operation.events.iter().map(encode).collect())
                .collect(),
            v4.diagnostic_events.iter().map(encode).collect(),
        ),
        TransactionMeta::V0(_)
        | TransactionMeta::V1(_)
        | TransactionMeta::V2(_)
        | TransactionMeta::V3(_) => (Vec::new(), Vec::new(), Vec::new()),
    }
}

#[derive(Deserialize)]
struct ManyParams {
    #[serde(rename = "startLedger")]
    start_ledger: Option<u32>,
    pagination: Option<Pagination>,
    #[serde(rename = "xdrFormat")]
    format: Option<String>,
}

/// Transactions from a ledger or a cursor on, in the order they were applied.
pub fn get_transactions(view: &View<'_>, params: Value) -> Result<Value, RpcError> {
    let params: ManyParams = read(params)?;
    check_format(params.format.as_deref())?;
    let pagination = params.pagination.unwrap_or_default();
    let limit = pagination.limit(DEFAULT_LIMIT, MAX_LIMIT)?;
    let window = Window::of(view);
    let start = start_of(
        &window,
        params.start_ledger.unwrap_or(0),
        pagination.cursor(),
    )?;
    let mut transactions = Vec::new();
    let mut cursor = start;
    'ledgers: for sequence in start.ledger..=view.indexed() {
        let Some(ledger) = view.ledger(sequence) else {
            break;
        };
        cursor = cursor.max(Position::ledger_start(sequence));
        for tx in &ledger.transactions {
            let position = Position::transaction(sequence, tx.application_order);
            if position <= start {
                continue;
            }
            let mut details = details(ledger, tx, &hex::encode(tx.hash.0));
            details.insert("createdAt".into(), ledger.close_time().into());
            transactions.push(Value::Object(details));
            cursor = position;
            if transactions.len() == limit {
                break 'ledgers;
            }
        }
    }
    Ok(json!({
        "transactions": transactions,
        "latestLedger": window.latest.sequence,
        "latestLedgerCloseTimestamp": window.latest.close_time,
        "oldestLedger": window.oldest.sequence,
        "oldestLedgerCloseTimestamp": window.oldest.close_time,
        "cursor": toid(cursor.ledger, cursor.transaction, 1).to_string(),
    }))
}

/// The position after which the page starts.
fn start_of(
    window: &Window,
    start_ledger: u32,
    cursor: Option<&str>,
) -> Result<Position, RpcError> {
    let Some(cursor) = cursor else {
        window.check_start(start_ledger)?;
        return Ok(Position::ledger_start(start_ledger));
    };
    if start_ledger != 0 {
        return Err(RpcError::invalid_request(
            "startLedger and cursor cannot both be set",
        ));
    }
    let position = Position::parse(cursor)?;
    window.check_start(position.ledger)?;
    Ok(position)
}
