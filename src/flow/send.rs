//! Sending recorded bytes, and noting what the answer asks for. The only place that calls the network's send.

use std::sync::Arc;
use std::time::Duration;

use super::chain::Chain;
use crate::domain::classify::{ResendAfter, SendAnswer, SendDecision, after_send};
use crate::domain::ids::TxHash;
use crate::domain::submission::Event;
use crate::ledger::{Change, Envelope, Ledger, LedgerError, SendPlan, Submission};
use crate::metrics::Metrics;
use crate::stellar::envelope::SignedEnvelope;
use crate::stellar::rpc::Rpc;

/// Sends recorded envelopes.
pub struct Sender {
    ledger: Ledger,
    rpc: Rpc,
    chain: Arc<Chain>,
    delays: SendDelays,
    metrics: Option<Arc<Metrics>>,
}

/// When bytes are sent again.
#[derive(Clone, Copy, Debug)]
pub struct SendDelays {
    /// After an answer that says nothing.
    pub unknown: Duration,
    /// After bytes were handed over once more: whoever waits for a slow answer must be able to note it, since a resend in
    /// between makes it stale.
    pub under_way: Duration,
    /// After `TRY_AGAIN_LATER`: as long as a ban lasts.
    pub ban: Duration,
    /// After an acknowledgement: as long as a queue keeps an envelope.
    pub acknowledged: Duration,
}

/// Ledgers a node keeps a transaction in its queue (`TRANSACTION_QUEUE_TIMEOUT_LEDGERS`), and one for the close under way.
const QUEUE_LEDGERS: u32 = 5;
/// Ledgers a node bans dropped bytes (`TRANSACTION_QUEUE_BAN_LEDGERS`).
const BAN_LEDGERS: u32 = 10;

impl SendDelays {
    /// The delays of a network that closes a ledger in that time, at nodes that are waited for so long.
    #[must_use]
    pub fn new(close: Duration, send_timeout: Duration) -> Self {
        Self {
            unknown: close,
            under_way: send_timeout + close,
            ban: close * BAN_LEDGERS,
            acknowledged: close * QUEUE_LEDGERS,
        }
    }
}

/// Why a send's answer was not noted. The envelope may be with the network all the same.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The ledger did not answer; the recorded resend time brings the row back.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Sender {
    /// A sender over these parts.
    #[must_use]
    pub fn new(ledger: Ledger, rpc: Rpc, chain: Arc<Chain>, delays: SendDelays) -> Self {
        Self {
            ledger,
            rpc,
            chain,
            delays,
            metrics: None,
        }
    }

    /// The same sender, whose answers are counted.
    #[must_use]
    pub fn counted_by(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// The client it sends with.
    #[must_use]
    pub fn rpc(&self) -> &Rpc {
        &self.rpc
    }

    /// The delays it works with.
    #[must_use]
    pub fn delays(&self) -> SendDelays {
        self.delays
    }

    /// Sends bytes that `row`, as read after recording them, stands for, and notes the answer.
    ///
    /// # Errors
    /// The answer was not noted.
    pub async fn send(
        &self,
        row: &Submission,
        hash: TxHash,
        xdr: &str,
        operations: i64,
    ) -> Result<(), SendError> {
        let sent = step!("send.network", self.rpc.send_transaction(hash, xdr).await);
        if let Some(seen) = sent.seen {
            self.chain.observe(seen);
        }
        tracing::debug!(submission = %row.id, %hash, answer = ?sent.answer, "sent");
        if let Some(metrics) = &self.metrics {
            metrics.send_answered(&sent.answer);
        }
        let change = note_answer(row, hash, operations, &sent.answer, self.delays);
        #[cfg(feature = "planted-bugs")]
        let change = super::planted::after_send(&self.ledger, row, &sent.answer, change).await?;
        // A stale version means that the reconciler settled the row meanwhile: the chain outranks an answer.
        step!("send.note", self.ledger.apply(change).await)?;
        Ok(())
    }
}

/// What an answer makes of the row that was read before the call.
fn note_answer(
    row: &Submission,
    hash: TxHash,
    operations: i64,
    answer: &SendAnswer,
    delays: SendDelays,
) -> Change {
    let decision = after_send(answer);
    let last_error = match &decision {
        SendDecision::Acknowledged => None,
        SendDecision::Resend(_, cause) | SendDecision::Stop(cause) => Some(cause.code.clone()),
        SendDecision::RaiseFee { .. } => Some("txINSUFFICIENT_FEE".to_owned()),
    };
    let event = match decision {
        SendDecision::Acknowledged => Event::Acknowledged,
        SendDecision::Resend(..) | SendDecision::RaiseFee { .. } | SendDecision::Stop(_) => {
            Event::AnswerNoted
        }
    };
    let plan = match decision {
        SendDecision::Acknowledged => SendPlan::Resend(delays.acknowledged),
        SendDecision::Resend(ResendAfter::Soon, _) => SendPlan::Resend(delays.unknown),
        SendDecision::Resend(ResendAfter::Ban, _) => SendPlan::Resend(delays.ban),
        SendDecision::RaiseFee { required } => SendPlan::RaiseFee {
            required,
            operations,
            after: Duration::ZERO,
        },
        SendDecision::Stop(cause) => SendPlan::Stop(cause),
    };
    Change {
        sending: Some(plan),
        last_error,
        tx_hash: Some(hash),
        evidence: Some(
            serde_json::json!({ "answer": format!("{answer:?}"), "hash": hash.to_string() }),
        ),
        ..Change::new(row, event, "sender")
    }
}

impl From<SignedEnvelope> for Envelope {
    /// What was signed, as it is recorded before it is sent.
    fn from(signed: SignedEnvelope) -> Self {
        let SignedEnvelope {
            pair,
            hash,
            inner_hash,
            xdr,
            fee,
            operations,
            max_time,
        } = signed;
        Self {
            pair,
            hash,
            inner_hash,
            xdr,
            fee,
            operations,
            max_time,
        }
    }
}
