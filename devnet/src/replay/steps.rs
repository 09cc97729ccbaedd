//! Playing the steps of a trace.

use super::header::{Header, number, text, xdr};
use super::{Difference, answers, compare};
use crate::envelope::Submitted;
use crate::network::Network;
use crate::xdr::{account_id, account_key};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use stellar_strkey::ed25519;
use stellar_xdr::Hash;

const SEND: &[&str] = &["status", "error_code", "fee_charged", "error_result_xdr"];
const TRANSACTION: &[&str] = &[
    "status",
    "latest_ledger",
    "ledger",
    "created_at",
    "fee_bump",
    "code",
    "fee_charged",
    "envelope_xdr",
    "result_xdr",
    "events",
    "result_meta_xdr",
];
const ACCOUNT: &[&str] = &[
    "found",
    "latest_ledger",
    "seq_num",
    "balance",
    "sub_entries",
    "seq_ledger",
    "seq_time",
    "sponsoring",
    "sponsored",
    "last_modified_ledger",
    "entry_xdr",
];
const ENTRY: &[&str] = &[
    "found",
    "latest_ledger",
    "last_modified_ledger",
    "live_until_ledger",
    "balance",
    "limit",
    "flags",
    "entry_xdr",
];

/// The fields of a step of that kind that are compared: of the step itself, and of its `answer`.
///
/// Of a closed ledger `applied` is compared as a set, by `hash`, `code` and `fee_charged`.
#[must_use]
pub fn compared_fields(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        "send" => (&["at_ledger", "hash", "inner_hash"], SEND),
        "close" => (&["ledger", "applied"], &[]),
        "get_transaction" => (&[], TRANSACTION),
        "account" => (&["public"], ACCOUNT),
        "entry" => (&[], ENTRY),
        "clock" => (&["now"], &[]),
        _ => (&[], &[]),
    }
}

/// A network in the middle of a trace.
pub struct Player {
    network: Network,
    accounts: HashMap<String, String>,
}

impl Player {
    /// The network at the start of the trace.
    pub fn new(header: Header) -> Self {
        Self {
            network: Network::new(header.config),
            accounts: header.accounts,
        }
    }

    /// Plays one step and compares the outcome.
    pub fn play(&mut self, kind: &str, step: &Value) -> Result<(), Difference> {
        let (own, answered) = compared_fields(kind);
        let (facts, answer) = match kind {
            "send" => self.send(step)?,
            "close" => return self.close(step),
            "get_transaction" => {
                let hash = hash(&text(step, "hash")?)?;
                (Map::new(), answers::transaction(&self.network, &hash)?)
            }
            "account" => self.account(step)?,
            "entry" => {
                let key = xdr(step, "key_xdr")?;
                (Map::new(), answers::entry(&self.network, &key)?)
            }
            "clock" => {
                let drift: u64 = number(step, "drift")?;
                self.network.set_drift(drift);
                let now = self.network.latest_close_time().saturating_add(drift);
                (object(json!({ "now": now })), Map::new())
            }
            other => return Err(Difference::new("step", other, "not supported")),
        };
        compare::fields(step, &facts, own)?;
        compare::fields(&step["answer"], &answer, answered)
    }

    fn send(&mut self, step: &Value) -> Result<(Map<String, Value>, answers::Answer), Difference> {
        let at_ledger = self.network.latest_ledger();
        let bytes = STANDARD
            .decode(text(step, "envelope_xdr")?)
            .map_err(|error| Difference::new("envelope_xdr", "base64", error))?;
        let inner_hash = Submitted::decode(&bytes, self.network.network_id())
            .ok()
            .and_then(|tx| tx.bump)
            .map(|bump| bump.inner_hash.to_string());
        let (hash, answer) = match self.network.submit(&bytes) {
            Ok(answer) => (
                Some(answer.hash.to_string()),
                answers::submitted(&answer.status)?,
            ),
            Err(_) => (None, object(json!({ "status": "NOT_ACCEPTED" }))),
        };
        let facts = json!({ "at_ledger": at_ledger, "hash": hash, "inner_hash": inner_hash });
        Ok((object(facts), answer))
    }

    fn close(&mut self, step: &Value) -> Result<(), Difference> {
        let close_time = number(step, "close_time")?;
        // The recorded order decides what each transaction's meta shows, and in some ledgers who succeeds.
        let order: Vec<Hash> = step["applied"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tx| hash(tx["hash"].as_str()?).ok())
            .collect();
        let ledger = self.network.close_in_order(close_time, &order);
        if ledger.close_time() != close_time {
            let later = "a time after the last close";
            return Err(Difference::new("close_time", later, close_time));
        }
        let facts = object(json!({ "ledger": ledger.sequence() }));
        compare::fields(step, &facts, &["ledger"])?;
        compare::applied(&step["applied"], &answers::applied(ledger))
    }

    fn account(
        &mut self,
        step: &Value,
    ) -> Result<(Map<String, Value>, answers::Answer), Difference> {
        let public = text(step, "public")?;
        let key = ed25519::PublicKey::from_string(&public)
            .map_err(|error| Difference::new("public", "an account address", error))?;
        let named = self.accounts.get(&text(step, "name")?).unwrap_or(&public);
        let facts = object(json!({ "public": named }));
        let key = account_key(&account_id(key.0));
        Ok((facts, answers::entry(&self.network, &key)?))
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn hash(text: &str) -> Result<Hash, Difference> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes)
        .map_err(|error| Difference::new("hash", "64 hexadecimal digits", error))?;
    Ok(Hash(bytes))
}
