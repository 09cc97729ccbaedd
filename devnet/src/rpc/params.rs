//! Parameters of calls, and the encodings answers share.

use super::error::RpcError;
use super::view::View;
use crate::history::ClosedLedger;
use crate::xdr::{MAX_DEPTH, to_bytes};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stellar_xdr::{Limits, ReadXdr, WriteXdr};

/// Reads parameters given by name; none at all is the same as an empty object.
pub fn read<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    let object = match params {
        Value::Null => Value::Object(Map::new()),
        Value::Object(_) => params,
        Value::Array(_) => {
            return Err(RpcError::invalid_params(
                "parameters must be given by name: array parameters are not supported",
            ));
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(RpcError::invalid_params("parameters must be an object"));
        }
    };
    serde_json::from_value(object)
        .map_err(|error| RpcError::invalid_params(format!("invalid parameters: {error}")))
}

/// Parameters of methods that take nothing but perhaps a format.
#[derive(Deserialize)]
pub struct FormatOnly {
    #[serde(rename = "xdrFormat")]
    format: Option<String>,
}

impl FormatOnly {
    /// Checks the parameters of a method that takes none.
    pub fn check(params: Value) -> Result<(), RpcError> {
        let read: Self = read(params)?;
        check_format(read.format.as_deref())
    }
}

/// The simulated network speaks base64 only; the real one also knows "json".
pub fn check_format(format: Option<&str>) -> Result<(), RpcError> {
    match format {
        None | Some("" | "base64") => Ok(()),
        Some("json") => Err(RpcError::invalid_params(
            "xdrFormat \"json\" is not supported by this simulated network, use \"base64\"",
        )),
        Some(_) => Err(RpcError::invalid_params(
            "xdrFormat must be \"base64\" or \"json\"",
        )),
    }
}

/// Where a page starts and how long it may be.
#[derive(Default, Deserialize)]
pub struct Pagination {
    pub cursor: Option<String>,
    pub limit: Option<u32>,
}

impl Pagination {
    /// The cursor, unless it is absent or empty.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref().filter(|cursor| !cursor.is_empty())
    }

    /// The page length: `default` when absent or 0.
    pub fn limit(&self, default: u32, max: u32) -> Result<usize, RpcError> {
        match self.limit {
            None | Some(0) => Ok(default as usize),
            Some(limit) if limit > max => Err(RpcError::invalid_params(format!(
                "limit must not exceed {max}"
            ))),
            Some(limit) => Ok(limit as usize),
        }
    }
}

/// One end of the history window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub sequence: u32,
    pub close_time: u64,
}

/// Oldest and latest ledger the node still has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub oldest: Edge,
    pub latest: Edge,
}

impl Window {
    /// The window of what is in sight right now.
    pub fn of(view: &View<'_>) -> Self {
        let edge = |sequence| Edge {
            sequence,
            close_time: view.ledger(sequence).map_or(0, ClosedLedger::close_time),
        };
        Self {
            oldest: edge(view.oldest_ledger()),
            latest: edge(view.latest_ledger()),
        }
    }

    /// Whether the node has that ledger.
    pub fn contains(&self, sequence: u32) -> bool {
        (self.oldest.sequence..=self.latest.sequence).contains(&sequence)
    }

    /// Refuses a start outside of the window.
    pub fn check_start(&self, sequence: u32) -> Result<(), RpcError> {
        if self.contains(sequence) {
            return Ok(());
        }
        Err(RpcError::invalid_request(format!(
            "start ledger ({sequence}) must be between the oldest ledger: {} and the latest ledger: {} for this rpc \
             instance",
            self.oldest.sequence, self.latest.sequence
        )))
    }
}

/// The base64 XDR of a value this program built or decoded.
pub fn encode<T: WriteXdr>(value: &T) -> String {
    STANDARD.encode(to_bytes(value))
}

/// The bytes of a base64 text, at most `max` of them.
pub fn decode_bytes(text: &str, max: usize) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    (bytes.len() <= max).then_some(bytes)
}

/// The value of a base64 XDR text of at most `max` bytes.
pub fn decode<T: ReadXdr>(text: &str, max: usize) -> Option<T> {
    let bytes = decode_bytes(text, max)?;
    let limits = Limits {
        depth: MAX_DEPTH,
        len: max,
    };
    T::from_xdr(bytes, limits).ok()
}
