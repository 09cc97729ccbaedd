//! `getLedgerEntries`.

use super::error::RpcError;
use super::params::{check_format, decode, encode, read};
use super::view::View;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use stellar_xdr::LedgerKey;

const MAX_KEYS: usize = 200;
const MAX_KEY_BYTES: usize = 16 * 1024;

#[derive(Deserialize)]
struct Params {
    keys: Option<Vec<String>>,
    #[serde(rename = "xdrFormat")]
    format: Option<String>,
}

/// The entries under these keys after the last closed ledger, in the order asked for; missing ones are left out.
pub fn get_ledger_entries(view: &View<'_>, params: Value) -> Result<Value, RpcError> {
    let params: Params = read(params)?;
    check_format(params.format.as_deref())?;
    let texts = params.keys.unwrap_or_default();
    if texts.len() > MAX_KEYS {
        return Err(RpcError::invalid_params(format!(
            "key count ({}) exceeds maximum supported ({MAX_KEYS})",
            texts.len()
        )));
    }
    let keys: Vec<LedgerKey> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| parse_key(index, text))
        .collect::<Result<_, _>>()?;
    let mut seen = HashSet::new();
    let entries: Vec<Value> = keys
        .iter()
        .filter(|key| seen.insert(*key))
        .filter_map(|key| {
            let entry = view.entry(key)?;
            Some(json!({
                "key": encode(key),
                "xdr": encode(&entry.data),
                "lastModifiedLedgerSeq": entry.last_modified_ledger_seq,
                "extXdr": encode(&entry.ext),
            }))
        })
        .collect();
    Ok(json!({"entries": entries, "latestLedger": view.latest_ledger()}))
}

fn parse_key(index: usize, text: &str) -> Result<LedgerKey, RpcError> {
    let key = decode(text, MAX_KEY_BYTES).ok_or_else(|| {
        let shown: String = text.chars().take(100).collect();
        RpcError::invalid_params(format!(
            "cannot unmarshal key value {shown} at index {index}"
        ))
    })?;
    if matches!(key, LedgerKey::Ttl(_)) {
        return Err(RpcError::invalid_params(
            "ledger ttl entries cannot be queried directly",
        ));
    }
    Ok(key)
}
