//! `sendTransaction`.

use super::error::RpcError;
use super::params::{Window, check_format, decode_bytes, encode, read};
use super::view::{Sight, View};
use crate::envelope::{MAX_ENVELOPE_BYTES, Submitted};
use crate::faults::Release;
use crate::network::{Network, SubmitAnswer, SubmitStatus};
use crate::outcome::Outcome;
use serde::Deserialize;
use serde_json::{Value, json};
use stellar_xdr::{Hash, TransactionResultCode as Code};

/// How a node treats an envelope.
#[derive(Clone, Copy, Debug, Default)]
pub enum SendManner {
    /// As it should.
    #[default]
    Proper,
    /// It answers this status, and has taken the envelope or not.
    Says {
        /// The status.
        status: &'static str,
        /// Whether the envelope was taken.
        taken: bool,
    },
    /// It refuses with `txBAD_SEQ` as long as the transaction before is not that many ledgers old.
    BadSequence {
        /// How many ledgers.
        ledgers: u32,
    },
    /// Another node proposes what it takes.
    Held {
        /// When that one does.
        until: Release,
        /// Whether this one drops it at once.
        dropped: bool,
    },
}

#[derive(Deserialize)]
struct Params {
    transaction: Option<String>,
    #[serde(rename = "xdrFormat")]
    format: Option<String>,
}

/// Hands an envelope to the node. `PENDING` says no more than that it waits in this node's queue.
pub fn send_transaction(
    network: &mut Network,
    sight: &Sight,
    manner: SendManner,
    params: Value,
) -> Result<Value, RpcError> {
    let params: Params = read(params)?;
    check_format(params.format.as_deref())?;
    let text = params.transaction.unwrap_or_default();
    let bytes = decode_bytes(&text, MAX_ENVELOPE_BYTES).ok_or_else(invalid_xdr)?;
    let latest = Window::of(&View::new(network, sight)).latest;
    let answer = submit(network, sight, manner, &bytes).map_err(|_| invalid_xdr())?;
    let (status, refusal) = match answer.status {
        SubmitStatus::Pending => ("PENDING", None),
        SubmitStatus::Duplicate => ("DUPLICATE", None),
        SubmitStatus::TryAgainLater => ("TRY_AGAIN_LATER", None),
        SubmitStatus::Error(result) => ("ERROR", Some(encode(result.as_ref()))),
        SubmitStatus::Filtered(_) => {
            return Err(RpcError::internal("invalid status from stellar-core"));
        }
    };
    let (status, refusal) = match manner {
        SendManner::Says { status, .. } => (status, None),
        SendManner::Proper | SendManner::BadSequence { .. } | SendManner::Held { .. } => {
            (status, refusal)
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

fn submit(
    network: &mut Network,
    sight: &Sight,
    manner: SendManner,
    bytes: &[u8],
) -> Result<SubmitAnswer, stellar_xdr::Error> {
    let latest = View::new(network, sight).latest_ledger();
    match manner {
        SendManner::Says { taken: false, .. } => {
            let hash = Submitted::decode(bytes, network.network_id())?.hash;
            let status = SubmitStatus::TryAgainLater;
            return Ok(SubmitAnswer { hash, status });
        }
        SendManner::BadSequence { ledgers } => {
            let tx = Submitted::decode(bytes, network.network_id())?;
            if network.follows_within(&tx, ledgers) {
                let result = Outcome::refusal(Code::TxBadSeq, 0).into_result();
                return Ok(SubmitAnswer {
                    hash: tx.hash,
                    status: SubmitStatus::Error(Box::new(result)),
                });
            }
        }
        SendManner::Held { until, dropped } => return network.submit_held(bytes, until, dropped),
        SendManner::Proper | SendManner::Says { taken: true, .. } => {}
    }
    if latest < network.latest_ledger() {
        network.submit_as_of(bytes, latest)
    } else {
        network.submit(bytes)
    }
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
