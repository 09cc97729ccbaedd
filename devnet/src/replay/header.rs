//! The first line of a trace: parameters of the network and the entries it starts with.

use super::Difference;
use crate::config::NetworkConfig;
use serde_json::Value;
use std::collections::HashMap;
use stellar_xdr::{LedgerEntry, LedgerEntryData, LedgerKey, Limits, ReadXdr};

/// Format of the traces this replayer reads.
const FORMAT: &str = "stellar-trace/1";

/// Protocol whose rules the network follows.
const PROTOCOL: u64 = 26;

/// Latest ledger a trace may start from: sequence numbers are 64 bits, half of them the ledger.
const LAST_START: u32 = i32::MAX as u32 - 1_000_000;

/// What a trace says before its first step.
#[derive(Debug)]
pub struct Header {
    /// Name of the scenario.
    pub scenario: String,
    /// The network to start.
    pub config: NetworkConfig,
    /// Addresses by the names the steps use.
    pub accounts: HashMap<String, String>,
}

impl Header {
    /// Reads the header and refuses what this network does not simulate.
    pub fn read(header: &Value) -> Result<Self, Difference> {
        if header["format"] != FORMAT {
            return Err(Difference::new("format", &header["format"], FORMAT));
        }
        if header["protocol"] != PROTOCOL {
            return Err(Difference::new("protocol", &header["protocol"], PROTOCOL));
        }
        if !header["soroban_config"].is_null() {
            let wanted = &header["soroban_config"];
            return Err(Difference::new(
                "soroban_config",
                wanted,
                "not supported: this network has no contracts",
            ));
        }
        let start = &header["start"];
        let start_ledger: u32 = number(start, "ledger")?;
        if start_ledger > LAST_START {
            return Err(Difference::new("start.ledger", LAST_START, start_ledger));
        }
        Ok(Self {
            scenario: text(header, "scenario")?,
            config: NetworkConfig {
                passphrase: text(header, "passphrase")?,
                protocol: number(header, "protocol")?,
                base_fee: number(header, "base_fee")?,
                base_reserve: number(header, "base_reserve")?,
                max_tx_set_ops: number(header, "max_tx_set_ops")?,
                target_close_time_s: number(header, "target_close_time_s")?,
                start_ledger,
                start_close_time: number(start, "close_time")?,
                initial_state: initial_state(header)?,
                history_window: u32::MAX,
            },
            accounts: accounts(header),
        })
    }
}

/// A text field that must be there.
pub fn text(object: &Value, field: &str) -> Result<String, Difference> {
    object[field]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| Difference::new(field, "a text", &object[field]))
}

/// A number field that must be there and fit.
pub fn number<T: TryFrom<u64>>(object: &Value, field: &str) -> Result<T, Difference> {
    object[field]
        .as_u64()
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| Difference::new(field, "a number in range", &object[field]))
}

/// A base64 XDR field that must be there.
pub fn xdr<T: ReadXdr>(object: &Value, field: &str) -> Result<T, Difference> {
    T::from_xdr_base64(text(object, field)?, Limits::depth(500))
        .map_err(|error| Difference::new(field, "XDR", error))
}

fn accounts(header: &Value) -> HashMap<String, String> {
    let accounts = header["accounts"].as_object();
    accounts
        .into_iter()
        .flatten()
        .filter_map(|(name, account)| Some((name.clone(), account["public"].as_str()?.to_owned())))
        .collect()
}

fn initial_state(header: &Value) -> Result<Vec<(LedgerKey, LedgerEntry)>, Difference> {
    let entries = header["initial_state"]
        .as_array()
        .filter(|entries| !entries.is_empty())
        .ok_or_else(|| Difference::new("initial_state", "entries", &header["initial_state"]))?;
    entries.iter().map(initial_entry).collect()
}

fn initial_entry(listed: &Value) -> Result<(LedgerKey, LedgerEntry), Difference> {
    let key: LedgerKey = xdr(listed, "key_xdr")?;
    let entry: LedgerEntry = xdr(listed, "entry_xdr")?;
    if entry.to_key() != key {
        return Err(Difference::new(
            "initial_state",
            "the entry of its key",
            "another",
        ));
    }
    match entry.data {
        LedgerEntryData::Account(_) | LedgerEntryData::Trustline(_) => Ok((key, entry)),
        _ => Err(Difference::new(
            "initial_state",
            entry.data.name(),
            "not supported: this network has accounts and trustlines only",
        )),
    }
}
