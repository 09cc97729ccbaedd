//! `getEvents`.

use super::cursor::{EventCursor, OPERATION_MASK, TRANSACTION_MASK};
use super::error::RpcError;
use super::event_filter::{FilterParams, matches, read_filters};
use super::params::{Pagination, Window, check_format, encode, read};
use super::view::View;
use crate::history::{AppliedTransaction, ClosedLedger};
use serde::Deserialize;
use serde_json::{Value, json};
use stellar_xdr::{
    ContractEvent, ContractEventBody, ContractEventType, TransactionEventStage, TransactionMeta,
};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 10_000;
/// Most ledgers one call looks through.
const SCAN_LEDGERS: u32 = 10_000;

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "startLedger")]
    start_ledger: Option<u32>,
    #[serde(rename = "endLedger")]
    end_ledger: Option<u32>,
    filters: Option<Vec<FilterParams>>,
    pagination: Option<Pagination>,
    #[serde(rename = "xdrFormat")]
    format: Option<String>,
}

/// Ledgers to look through.
struct Range {
    start: u32,
    /// The event after which to begin.
    after: Option<EventCursor>,
    /// Exclusive.
    end: u32,
}

/// Events that match one of the filters, from a ledger or a cursor on. A page that is not full ends with a cursor behind
/// the last ledger looked through, so whoever polls gets on even where nothing happens.
pub fn get_events(view: &View<'_>, params: Value) -> Result<Value, RpcError> {
    let params: Params = read(params)?;
    check_format(params.format.as_deref())?;
    let pagination = params.pagination.unwrap_or_default();
    let limit = pagination.limit(DEFAULT_LIMIT, MAX_LIMIT)?;
    let filters = read_filters(params.filters.unwrap_or_default())?;
    let window = Window::of(view);
    let range = range(
        &window,
        view.indexed(),
        params.start_ledger.unwrap_or(0),
        params.end_ledger.unwrap_or(0),
        pagination.cursor(),
    )?;
    let found: Vec<Value> = (range.start..range.end)
        .filter_map(|sequence| view.ledger(sequence))
        .flat_map(|ledger| {
            events_of(ledger)
                .into_iter()
                .map(move |event| (ledger, event))
        })
        .filter(|(_, event)| range.after.is_none_or(|after| event.cursor > after))
        .filter(|(_, event)| matches(&filters, event.event))
        .take(limit)
        .map(|(ledger, event)| event.info(ledger))
        .collect();
    let cursor = match found.last() {
        Some(last) if found.len() == limit => last["id"].clone(),
        Some(_) | None => {
            let end = EventCursor::end_of(range.end.saturating_sub(1));
            range
                .after
                .map_or(end, |after| after.max(end))
                .to_string()
                .into()
        }
    };
    Ok(json!({
        "events": found,
        "cursor": cursor,
        "latestLedger": window.latest.sequence,
        "oldestLedger": window.oldest.sequence,
        "latestLedgerCloseTime": window.latest.close_time.to_string(),
        "oldestLedgerCloseTime": window.oldest.close_time.to_string(),
    }))
}

fn range(
    window: &Window,
    indexed: u32,
    start_ledger: u32,
    end_ledger: u32,
    cursor: Option<&str>,
) -> Result<Range, RpcError> {
    let after = cursor.map(EventCursor::parse).transpose()?;
    let start = match after {
        Some(_) if start_ledger != 0 || end_ledger != 0 => {
            return Err(RpcError::invalid_params(
                "ledger ranges and cursor cannot both be set",
            ));
        }
        Some(after) => after.ledger,
        None if start_ledger == 0 => {
            return Err(RpcError::invalid_params("startLedger must be positive"));
        }
        None => start_ledger,
    };
    if !window.contains(start) {
        return Err(RpcError::invalid_request(format!(
            "startLedger must be within the ledger range: {} - {}",
            window.oldest.sequence, window.latest.sequence
        )));
    }
    let mut end = start
        .saturating_add(SCAN_LEDGERS)
        .min(indexed.saturating_add(1));
    if end_ledger != 0 {
        end = end.min(end_ledger);
    }
    // An index behind must not lead a cursor back.
    let end = end.max(start);
    Ok(Range { start, after, end })
}

struct PlacedEvent<'a> {
    cursor: EventCursor,
    tx: &'a AppliedTransaction,
    event: &'a ContractEvent,
}

/// All events of a ledger in the order they are served: fees of all transactions; each transaction's operations and what
/// follows them; refunds of all transactions.
fn events_of(ledger: &ClosedLedger) -> Vec<PlacedEvent<'_>> {
    let mut events = Vec::new();
    let (mut before_all, mut after_all) = (0, 0);
    for tx in &ledger.transactions {
        let TransactionMeta::V4(meta) = &tx.meta else {
            continue;
        };
        let mut after_tx = 0;
        let mut place = |transaction, operation, counter: &mut u32, event| {
            events.push(PlacedEvent {
                cursor: EventCursor {
                    ledger: ledger.sequence(),
                    transaction,
                    operation,
                    event: *counter,
                },
                tx,
                event,
            });
            *counter += 1;
        };
        for staged in &meta.events {
            let event = &staged.event;
            match staged.stage {
                TransactionEventStage::BeforeAllTxs => place(0, 0, &mut before_all, event),
                TransactionEventStage::AfterTx => {
                    place(tx.application_order, OPERATION_MASK, &mut after_tx, event);
                }
                TransactionEventStage::AfterAllTxs => {
                    place(TRANSACTION_MASK, 0, &mut after_all, event);
                }
            }
        }
        for (operation, index) in meta.operations.iter().zip(0..) {
            let mut counter = 0;
            for event in &operation.events {
                place(tx.application_order, index, &mut counter, event);
            }
        }
    }
    events.sort_by_key(|event| event.cursor);
    events
}

impl PlacedEvent<'_> {
    fn info(&self, ledger: &ClosedLedger) -> Value {
        let ContractEventBody::V0(body) = &self.event.body;
        let topics: Vec<String> = body.topics.iter().map(encode).collect();
        let contract = self.event.contract_id.as_ref().map(|id| {
            stellar_strkey::Contract(id.0.0)
                .to_string()
                .as_str()
                .to_owned()
        });
        json!({
            "type": match self.event.type_ {
                ContractEventType::System => "system",
                ContractEventType::Contract => "contract",
                ContractEventType::Diagnostic => "diagnostic",
            },
            "ledger": ledger.sequence(),
            "ledgerClosedAt": rfc3339(ledger.close_time()),
            "contractId": contract.unwrap_or_default(),
            "id": self.cursor.to_string(),
            "operationIndex": self.cursor.operation,
            "transactionIndex": self.cursor.transaction,
            "txHash": hex::encode(self.tx.hash.0),
            "inSuccessfulContractCall": self.tx.is_success(),
            "topic": topics,
            "value": encode(&body.data),
        })
    }
}

fn rfc3339(unix: u64) -> String {
    i64::try_from(unix)
        .ok()
        .and_then(|unix| OffsetDateTime::from_unix_timestamp(unix).ok())
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}
