//! Shapes that several answers share.

use jsonrpsee::core::traits::ToRpcParams;
use jsonrpsee::core::{JsonRawValue, to_json_raw_value};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::ledger::Seen;
use super::nodes::Answer;
use super::standing::Shown;

/// Parameters by name: the RPC refuses arrays.
pub(super) struct Params(pub Value);

impl Params {
    pub(super) fn none() -> Self {
        Self(json!({}))
    }
}

impl ToRpcParams for Params {
    fn to_rpc_params(self) -> Result<Option<Box<JsonRawValue>>, serde_json::Error> {
        to_json_raw_value(&self.0).map(Some)
    }
}

/// Answer of `getNetwork`.
#[derive(Deserialize)]
pub(super) struct Network {
    pub passphrase: String,
}

impl Answer for Network {
    fn shown(&self) -> Option<Shown> {
        None
    }

    fn passphrase(&self) -> Option<&str> {
        Some(&self.passphrase)
    }
}

/// Answer of `getHealth`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    pub latest_ledger: u32,
    /// Older versions do not tell.
    #[serde(default, deserialize_with = "optional_number")]
    pub latest_ledger_close_time: Option<u64>,
    pub oldest_ledger: u32,
}

impl Health {
    /// The last ledger, if its close time is told.
    pub(super) fn seen(&self) -> Option<Seen> {
        Some(Seen {
            ledger: self.latest_ledger,
            close_time: self.latest_ledger_close_time?,
        })
    }
}

impl Answer for Health {
    fn shown(&self) -> Option<Shown> {
        Some(Shown {
            ledger: self.latest_ledger,
            close_time: self.latest_ledger_close_time,
        })
    }
}

/// A number that is a string in some answers and a number in others, though it means the same.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Text(String),
    }
    match Either::deserialize(deserializer)? {
        Either::Number(number) => Ok(number),
        Either::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

/// As [`number`], where it may be absent.
pub(super) fn optional_number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Wrapped(#[serde(deserialize_with = "number")] u64);
    Ok(Option::<Wrapped>::deserialize(deserializer)?.map(|wrapped| wrapped.0))
}

/// A list, which an empty answer may write as `null`; a missing one is an error.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
