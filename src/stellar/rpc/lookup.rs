//! Looking a hash up.

use serde::Deserialize;
use serde_json::json;
use soroban_client::xdr;

use crate::domain::classify::Fault;
use crate::domain::ids::TxHash;
use crate::domain::plan::{self, Finding};
use crate::stellar::convert;
use crate::stellar::effect::{self, Effect};
use crate::stellar::outcome;

use super::Rpc;
use super::calls::Method;
use super::ledger::Seen;
use super::nodes;
use super::standing::Shown;
use super::wire::{Params, number, optional_number};

/// What a look-up of one hash answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// What was found.
    pub finding: Finding,
    /// The node's last ledger. It may have been taken in after the node looked: absence up to it is not proven.
    pub seen: Seen,
    /// Oldest ledger that the node keeps.
    pub oldest_ledger: u32,
    /// The ledger it is in.
    pub ledger: Option<u32>,
    /// When that ledger closed, in unix seconds.
    pub closed_at: Option<u64>,
    /// Fee charged for the whole, in stroops.
    pub fee_charged: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    status: String,
    tx_hash: String,
    latest_ledger: u32,
    #[serde(deserialize_with = "number")]
    latest_ledger_close_time: u64,
    oldest_ledger: u32,
    ledger: Option<u32>,
    #[serde(default, deserialize_with = "optional_number")]
    created_at: Option<u64>,
    result_xdr: Option<String>,
    result_meta_xdr: Option<String>,
    events: Option<Events>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Events {
    transaction_events_xdr: Option<Vec<String>>,
    contract_events_xdr: Option<Vec<Vec<String>>>,
}

impl Answer {
    fn seen(&self) -> Seen {
        Seen {
            ledger: self.latest_ledger,
            close_time: self.latest_ledger_close_time,
        }
    }
}

impl nodes::Answer for Answer {
    fn shown(&self) -> Option<Shown> {
        Some(self.seen().into())
    }
}

impl Rpc {
    /// Looks a hash up, inner or outer, and whether its transaction left that effect.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer, which says nothing about the transaction.
    pub async fn transaction(&self, hash: TxHash, effect: &Effect) -> Result<Lookup, Fault> {
        let params = Params(json!({ "hash": hash.to_string() }));
        self.call(Method::GetTransaction, params, |answer: Answer| {
            if answer.tx_hash == hash.to_string() {
                read(&answer, effect)
            } else {
                Err(Fault::Malformed)
            }
        })
        .await
    }
}

fn read(answer: &Answer, effect: &Effect) -> Result<Lookup, Fault> {
    let outcome = answer.result_xdr.as_deref().map(outcome::decode);
    let finding = match (answer.status.as_str(), outcome) {
        ("NOT_FOUND", _) => Finding::NotFound,
        ("SUCCESS", Some(Some(outcome))) if outcome.failure.is_none() => {
            Finding::Success(effect_in(answer, effect))
        }
        ("FAILED", Some(Some(outcome))) => {
            Finding::Failed(outcome.failure.ok_or(Fault::Malformed)?)
        }
        // A success whose details this version cannot read is a success all the same.
        ("SUCCESS", Some(None) | None) => Finding::Success(effect_in(answer, effect)),
        ("SUCCESS" | "FAILED", _) => return Err(Fault::Malformed),
        _ => return Err(Fault::UnknownStatus),
    };
    Ok(Lookup {
        finding,
        seen: answer.seen(),
        oldest_ledger: answer.oldest_ledger,
        // Where nothing was found the RPC writes 0.
        ledger: answer.ledger.filter(|ledger| *ledger > 0),
        closed_at: answer.created_at.filter(|closed_at| *closed_at > 0),
        fee_charged: outcome.flatten().map(|outcome| outcome.fee_charged),
    })
}

/// What an answer tells of a transaction's events.
struct Told {
    /// Events of its operations, and whether each could be read.
    contract: Vec<Option<xdr::ContractEvent>>,
    /// Whether there is any event of the transaction itself. Its fee leaves one wherever events are recorded at all.
    records_events: bool,
}

/// Searches the effect. It is missing only where the events are there, all of them can be read, and it is not among them.
fn effect_in(answer: &Answer, effect: &Effect) -> plan::Effect {
    let Some(told) = told_beside(answer).or_else(|| told_in_meta(answer)) else {
        return plan::Effect::Unknown;
    };
    let mut events = told.contract.iter().flatten();
    if events.any(|event| effect::of_event(event).as_ref() == Some(effect)) {
        return plan::Effect::Matched;
    }
    let unread = told.contract.iter().any(Option::is_none);
    // A node that records no events of classic operations gives empty lists: they say nothing.
    let recorded = told.records_events || !told.contract.is_empty();
    if unread || !recorded {
        plan::Effect::Unknown
    } else {
        plan::Effect::Missing
    }
}

fn told_beside(answer: &Answer) -> Option<Told> {
    let events = answer.events.as_ref()?;
    let contract = events.contract_events_xdr.as_ref()?;
    let of_transaction = events.transaction_events_xdr.as_ref();
    Some(Told {
        contract: contract
            .iter()
            .flatten()
            .map(|event| convert::read(event))
            .collect(),
        records_events: of_transaction.is_some_and(|events| !events.is_empty()),
    })
}

fn told_in_meta(answer: &Answer) -> Option<Told> {
    match convert::read(answer.result_meta_xdr.as_deref()?)? {
        xdr::TransactionMeta::V4(meta) => Some(Told {
            contract: meta
                .operations
                .iter()
                .flat_map(|operation| operation.events.iter().cloned().map(Some))
                .collect(),
            records_events: !meta.events.is_empty(),
        }),
        // Before protocol 23 classic operations left no events.
        xdr::TransactionMeta::V0(_)
        | xdr::TransactionMeta::V1(_)
        | xdr::TransactionMeta::V2(_)
        | xdr::TransactionMeta::V3(_) => None,
    }
}

#[cfg(test)]
#[path = "lookup_tests.rs"]
mod tests;
