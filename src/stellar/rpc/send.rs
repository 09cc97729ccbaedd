//! Handing an envelope to a node.

use serde::Deserialize;
use serde_json::json;

use crate::domain::classify::{Fault, Refusal, SendAnswer};
use crate::domain::ids::TxHash;
use crate::stellar::outcome;

use super::Rpc;
use super::calls::Method;
use super::ledger::Seen;
use super::nodes;
use super::standing::Shown;
use super::wire::{Params, number};

/// What a send answered, and the ledger the node was at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The answer.
    pub answer: SendAnswer,
    /// The node's last ledger, if it gave a usable answer.
    pub seen: Option<Seen>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    status: String,
    hash: String,
    latest_ledger: u32,
    #[serde(deserialize_with = "number")]
    latest_ledger_close_time: u64,
    error_result_xdr: Option<String>,
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
    /// Sends recorded bytes. No answer proves that the network does not have them.
    pub async fn send_transaction(&self, hash: TxHash, xdr: &str) -> Sent {
        let params = Params(json!({ "transaction": xdr }));
        let sent = self.call(Method::SendTransaction, params, |answer: Answer| {
            if answer.hash != hash.to_string() {
                return Err(Fault::Malformed);
            }
            Ok(Sent {
                answer: read(&answer),
                seen: Some(answer.seen()),
            })
        });
        sent.await.unwrap_or_else(|fault| Sent {
            answer: SendAnswer::Unknown(fault),
            seen: None,
        })
    }
}

fn read(answer: &Answer) -> SendAnswer {
    match answer.status.as_str() {
        "PENDING" => SendAnswer::Pending,
        "DUPLICATE" => SendAnswer::Duplicate,
        "TRY_AGAIN_LATER" => SendAnswer::TryAgainLater,
        "ERROR" => {
            let outcome = answer.error_result_xdr.as_deref().and_then(outcome::decode);
            match outcome.map(|outcome| (outcome.failure, outcome.fee_charged)) {
                Some((Some(failure), fee_charged)) => SendAnswer::Refused(Refusal {
                    failure,
                    fee_charged,
                }),
                // An error without a reason, or whose result says success.
                Some((None, _)) | None => SendAnswer::Unknown(Fault::Malformed),
            }
        }
        _ => SendAnswer::Unknown(Fault::UnknownStatus),
    }
}
