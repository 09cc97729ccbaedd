//! The treasury's payments as they land, many at one call.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};
use soroban_client::xdr;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::domain::classify::Fault;
use crate::domain::ids::{AccountId, TxHash};
use crate::domain::operation::{Asset, Operation};
use crate::stellar::convert;
use crate::stellar::effect::{self, Effect};
use crate::stellar::network::NetworkId;

use super::Rpc;
use super::calls::Method;
use super::ledger::Seen;
use super::nodes;
use super::standing::Shown;
use super::wire::{Params, list, number};

/// Events asked for at once: about 2 MB of answer at most.
const PAGE_EVENTS: usize = 2_000;
/// Limits of the RPC on one call: filters, and contracts of one filter.
const FILTERS: usize = 5;
const CONTRACTS_OF_FILTER: usize = 5;
/// Most contracts whose minting one call can watch: all filters but the first.
const MINTS: usize = (FILTERS - 1) * CONTRACTS_OF_FILTER;

/// Where to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventCursor {
    /// At that ledger, which the node must have.
    Start(u32),
    /// After a page.
    After(String),
}

/// Whose payments are watched.
///
/// What the treasury pays leaves a `transfer` or, paid to the issuer, a `burn`, and names the treasury: one filter finds
/// them all, whatever the asset. What an issuing treasury pays is a `mint`, which does not name the issuer. A filter on
/// all mints would draw the whole network's, so those are found by the contracts of the assets that are under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    treasury: AccountId,
    minted: Vec<[u8; 32]>,
}

impl Watch {
    /// A watch over the treasury's payments, minting included for the first 20 of its own assets among the operations
    /// under way. Payments of further ones are settled by look-ups.
    #[must_use]
    pub fn over<'a>(
        network: &NetworkId,
        treasury: AccountId,
        under_way: impl IntoIterator<Item = &'a Operation>,
    ) -> Self {
        let own = under_way
            .into_iter()
            .filter_map(|operation| match operation {
                Operation::Payment(payment) => match &payment.asset {
                    Asset::Issued { issuer, .. } if *issuer == treasury => Some(&payment.asset),
                    Asset::Issued { .. } | Asset::Native => None,
                },
                Operation::CreateAccount(_) => None,
            });
        let minted: BTreeSet<_> = own
            .map(|asset| effect::contract_of(network, asset))
            .collect();
        Self {
            treasury,
            minted: minted.into_iter().take(MINTS).collect(),
        }
    }

    fn filters(&self) -> Vec<Value> {
        let symbol = |name: &str| {
            let name = name.try_into().unwrap_or_default();
            convert::write(&xdr::ScVal::Symbol(xdr::ScSymbol(name)))
        };
        let treasury = convert::write(&xdr::ScVal::Address(xdr::ScAddress::Account(
            convert::account(self.treasury),
        )));
        let paid = json!({
            "type": "contract",
            "topics": [
                [symbol("transfer"), treasury, "*", "*"],
                [symbol("burn"), treasury, "*"],
            ],
        });
        let minted = self.minted.chunks(CONTRACTS_OF_FILTER).map(|contracts| {
            let contracts: Vec<_> = contracts
                .iter()
                .map(|id| stellar_strkey::Contract(*id).to_string())
                .collect();
            json!({
                "type": "contract",
                "contractIds": contracts,
                "topics": [[symbol("mint"), "*", "*"]],
            })
        });
        [paid].into_iter().chain(minted).collect()
    }
}

/// A payment that landed: its transaction succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landed {
    /// Hash of the whole transaction: the outer one for a fee-bump.
    pub hash: TxHash,
    /// What it left.
    pub effect: Effect,
    /// The ledger it is in.
    pub ledger: u32,
    /// When that ledger closed, in unix seconds.
    pub closed_at: u64,
}

/// A page of payments that landed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectPage {
    /// The payments, in ledger order.
    pub effects: Vec<Landed>,
    /// Where the next page begins.
    pub cursor: EventCursor,
    /// Whether the page was full, so that the next one may hold more already.
    pub full: bool,
    /// The node's last ledger.
    pub seen: Seen,
    /// Oldest ledger that the node keeps.
    pub oldest_ledger: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(deserialize_with = "list")]
    events: Vec<Item>,
    cursor: String,
    latest_ledger: u32,
    #[serde(deserialize_with = "number")]
    latest_ledger_close_time: u64,
    oldest_ledger: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    ledger: u32,
    ledger_closed_at: String,
    contract_id: String,
    tx_hash: String,
    #[serde(deserialize_with = "list")]
    topic: Vec<String>,
    value: String,
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
    /// The watched payments since a cursor, one page of them. A payment that is not on it is not thereby absent.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer; `Rpc(-32600)` when the cursor is outside what the node keeps: start anew.
    pub async fn effects_since(
        &self,
        cursor: &EventCursor,
        watch: &Watch,
    ) -> Result<EffectPage, Fault> {
        let mut params = json!({
            "filters": watch.filters(),
            "pagination": { "limit": PAGE_EVENTS },
        });
        match cursor {
            EventCursor::Start(ledger) => params["startLedger"] = json!(ledger),
            EventCursor::After(cursor) => params["pagination"]["cursor"] = json!(cursor),
        }
        let answer: Answer = self.call(Method::GetEvents, Params(params), Ok).await?;
        Ok(EffectPage {
            full: answer.events.len() >= PAGE_EVENTS,
            effects: answer.events.iter().filter_map(landed).collect(),
            seen: answer.seen(),
            cursor: EventCursor::After(answer.cursor),
            oldest_ledger: answer.oldest_ledger,
        })
    }
}

/// An event that cannot be read, or is of another kind, is passed over: a look-up settles its payment.
fn landed(item: &Item) -> Option<Landed> {
    let contract = stellar_strkey::Contract::from_string(&item.contract_id).ok()?;
    let topics: Option<Vec<xdr::ScVal>> = item
        .topic
        .iter()
        .map(|topic| convert::read(topic))
        .collect();
    let closed_at = OffsetDateTime::parse(&item.ledger_closed_at, &Rfc3339).ok()?;
    Some(Landed {
        hash: item.tx_hash.parse().ok()?,
        effect: effect::of_parts(contract.0, &topics?, &convert::read(&item.value)?)?,
        ledger: item.ledger,
        closed_at: closed_at.unix_timestamp().try_into().ok()?,
    })
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
