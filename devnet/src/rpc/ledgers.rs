//! `getLedgers` and `getLatestLedger`.

use super::close_meta::{close_meta, header_entry};
use super::error::RpcError;
use super::params::{FormatOnly, Pagination, Window, check_format, encode, read};
use super::view::View;
use crate::history::ClosedLedger;
use serde::Deserialize;
use serde_json::{Value, json};

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "startLedger")]
    start_ledger: Option<u32>,
    pagination: Option<Pagination>,
    #[serde(rename = "xdrFormat")]
    format: Option<String>,
}

/// Ledgers from a sequence or a cursor on.
pub fn get_ledgers(view: &View<'_>, params: Value) -> Result<Value, RpcError> {
    let params: Params = read(params)?;
    check_format(params.format.as_deref())?;
    let pagination = params.pagination.unwrap_or_default();
    let limit = pagination.limit(DEFAULT_LIMIT, MAX_LIMIT)?;
    let window = Window::of(view);
    let start = start_of(
        &window,
        params.start_ledger.unwrap_or(0),
        pagination.cursor(),
    )?;
    let ledgers: Vec<&ClosedLedger> = (start..=window.latest.sequence)
        .take(limit)
        .map_while(|sequence| view.ledger(sequence))
        .collect();
    let cursor = ledgers
        .last()
        .map_or(start.saturating_sub(1), |last| last.sequence());
    let ledgers: Vec<Value> = ledgers.into_iter().map(ledger_info).collect();
    Ok(json!({
        "ledgers": ledgers,
        "latestLedger": window.latest.sequence,
        "latestLedgerCloseTime": window.latest.close_time,
        "oldestLedger": window.oldest.sequence,
        "oldestLedgerCloseTime": window.oldest.close_time,
        "cursor": cursor.to_string(),
    }))
}

/// The first ledger of the page; a cursor names the last one of the page before.
fn start_of(window: &Window, start_ledger: u32, cursor: Option<&str>) -> Result<u32, RpcError> {
    let Some(cursor) = cursor else {
        window.check_start(start_ledger)?;
        return Ok(start_ledger);
    };
    if start_ledger != 0 {
        return Err(RpcError::invalid_request(
            "startLedger and cursor cannot both be set",
        ));
    }
    let last: u32 = cursor
        .parse()
        .map_err(|_| RpcError::invalid_params("the cursor is not a ledger sequence"))?;
    let start = last.saturating_add(1);
    window.check_start(start)?;
    Ok(start)
}

fn ledger_info(ledger: &ClosedLedger) -> Value {
    json!({
        "hash": hex::encode(ledger.hash.0),
        "sequence": ledger.sequence(),
        "ledgerCloseTime": ledger.close_time().to_string(),
        "headerXdr": encode(&header_entry(ledger)),
        "metadataXdr": encode(&close_meta(ledger)),
    })
}

/// The last closed ledger. Here `headerXdr` is the bare header, without the hash `getLedgers` puts before it.
pub fn get_latest_ledger(view: &View<'_>, params: Value) -> Result<Value, RpcError> {
    FormatOnly::check(params)?;
    let ledger = view
        .ledger(view.latest_ledger())
        .ok_or_else(|| RpcError::internal("could not get latest ledger"))?;
    Ok(json!({
        "id": hex::encode(ledger.hash.0),
        "protocolVersion": ledger.header.ledger_version,
        "sequence": ledger.sequence(),
        "closeTime": ledger.close_time().to_string(),
        "headerXdr": encode(&ledger.header),
        "metadataXdr": encode(&close_meta(ledger)),
    }))
}
