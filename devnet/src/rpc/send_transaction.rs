//! `sendTransaction`.

use super::error::RpcError;
use super::params::{Window, check_format, decode_bytes, encode, read};
use crate::envelope::{MAX_ENVELOPE_BYTES, Submitted};
use crate::network::{Network, SubmitStatus};
use serde::Deserialize;
use serde_json::{Value, json};
use stellar_xdr::Hash;

#[derive(Deserialize)]
struct Params {
    transaction: Option<String>,
    #[serde(rename = "xdrFormat")]
    format: Option<String>,
}

/// Hands an envelope to the node. `PENDING` says no more than that it waits in this node's queue.
pub fn send_transaction(network: &mut Network, params: Value) -> Result<Value, RpcError> {
    let params: Params = read(params)?;
    check_format(params.format.as_deref())?;
    let text = params.transaction.unwrap_or_default();
    let bytes = decode_bytes(&text, MAX_ENVELOPE_BYTES).ok_or_else(invalid_xdr)?;
    let latest = Window::of(network).latest;
    let answer = network.submit(&bytes).map_err(|_| invalid_xdr())?;
    let (status, refusal) = match answer.status {
        SubmitStatus::Pending => ("PENDING", None),
        SubmitStatus::Duplicate => ("DUPLICATE", None),
        SubmitStatus::TryAgainLater => ("TRY_AGAIN_LATER", None),
        SubmitStatus::Error(result) => ("ERROR", Some(encode(result.as_ref()))),
        SubmitStatus::Filtered(_) => {
            return Err(RpcError::internal("invalid status from stellar-core"));
        }
    };
    let mut reply = json!({
        "status": status,
        "hash": hex::encode(answer.hash.0),
        "latestLedger": latest.sequence,
        "latestLedgerCloseTime": latest.close_time.to_string(),
    });
    if let Some(result) = refusal {
        reply["errorResultXdr"] = result.into();
    }
    Ok(reply)
}

/// The hash of the envelope in the parameters of a call, if there is one.
pub(crate) fn hash_of_params(network_id: &Hash, params: &Value) -> Option<Hash> {
    let text = params.get("transaction")?.as_str()?;
    let bytes = decode_bytes(text, MAX_ENVELOPE_BYTES)?;
    Submitted::decode(&bytes, network_id)
        .ok()
        .map(|submitted| submitted.hash)
}

fn invalid_xdr() -> RpcError {
    RpcError::invalid_params("invalid_xdr")
}
