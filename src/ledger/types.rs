//! What the ledger stores and answers, in the domain's words.

use std::time::Duration;

use serde_json::Value;

use super::forgotten::Recovered;
use crate::domain::classify::Cause;
use crate::domain::ids::{AccountId, Fence, Pair, SubmissionId, TxHash, Version};
use crate::domain::key::{Fingerprint, IdempotencyKey, JobId, KeyTag, Tenant};
use crate::domain::operation::OperationKind;
use crate::domain::plan::AccountState;
use crate::domain::schedule::Priority;
use crate::domain::submission::{Budget, Event, IllegalEvent, State};

/// Unix time in milliseconds, of the database's clock.
pub type Millis = i64;

/// A submission to be accepted.
#[derive(Clone, Debug)]
pub struct NewSubmission {
    /// Whose it is.
    pub tenant: Tenant,
    /// The intent.
    pub key: IdempotencyKey,
    /// Kind of its operation.
    pub kind: OperationKind,
    /// How urgent it is.
    pub priority: Priority,
    /// The caller's own reference.
    pub business_ref: Option<String>,
    /// The request in normal form; the operation can be parsed from it again.
    pub payload: Value,
    /// Of the payload's canonical bytes.
    pub fingerprint: Fingerprint,
}

/// What accepting came to.
#[derive(Clone, Debug)]
pub enum Accepted {
    /// The key is new.
    New(Submission),
    /// The key exists: compare the fingerprint.
    Existing(Submission),
}

/// A row of the submission ledger.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Public identity.
    pub id: SubmissionId,
    /// Whose it is.
    pub tenant: Tenant,
    /// The intent.
    pub key: IdempotencyKey,
    /// What the chain knows of the key.
    pub tag: KeyTag,
    /// Kind of its operation.
    pub kind: OperationKind,
    /// How urgent it is.
    pub priority: Priority,
    /// The caller's own reference.
    pub business_ref: Option<String>,
    /// The request in normal form.
    pub payload: Value,
    /// Of the payload's canonical bytes.
    pub fingerprint: Fingerprint,
    /// Where it stands, with budgets and generation.
    pub state: State,
    /// Moves with every transition.
    pub version: Version,
    /// The pair it holds, or held last.
    pub pair: Option<Pair>,
    /// Token of the claim under which it was last built.
    pub fence: Option<Fence>,
    /// Hash shown to users: of the transaction that decided it, else of the last envelope recorded.
    pub tx_hash: Option<TxHash>,
    /// Code of the last failure or answer worth showing to staff.
    pub last_error: Option<String>,
    /// What the last answer to a send asks for.
    pub sending: SendState,
    /// Envelopes recorded in all generations.
    pub attempt_count: i64,
    /// What makes the verdict safe to believe.
    pub evidence: Option<Value>,
    /// When it is due.
    pub next_attempt_at: Millis,
    /// Rounds of dispatch so far.
    pub round: i64,
    /// When it was accepted.
    pub created_at: Millis,
    /// When it last changed.
    pub updated_at: Millis,
}

/// What the last answer to a send asks for. Kept with the row so that any process can go on from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendState {
    /// Nothing: wait for a ledger.
    Waiting,
    /// The same bytes again, from that time on.
    Resend(Millis),
    /// A higher bid than so many stroops for so many operations, from that time on.
    RaiseFee {
        /// Full fee the network asked for, in stroops.
        required: i64,
        /// Operations it was asked for.
        operations: i64,
        /// Not before.
        at: Millis,
    },
    /// Nothing any more: sending again changes nothing.
    Stopped(Cause),
}

/// What the row shall ask for next. Delays count from the moment of writing, by the database's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendPlan {
    /// Nothing: wait for a ledger.
    Wait,
    /// The same bytes again, after that delay.
    Resend(Duration),
    /// A higher bid, after that delay.
    RaiseFee {
        /// Full fee the network asked for, in stroops.
        required: i64,
        /// Operations it was asked for.
        operations: i64,
        /// Not before.
        after: Duration,
    },
    /// Nothing any more: sending again changes nothing.
    Stop(Cause),
}

/// A recorded envelope. Append-only: no hash is ever erased.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Identity, growing in the order of recording.
    pub id: i64,
    /// Whose it is.
    pub submission: SubmissionId,
    /// Generation of the submission it was recorded in.
    pub generation: u32,
    /// The envelope.
    pub envelope: Envelope,
    /// Last ledger seen closed before it was first sent.
    pub sent_after_ledger: u32,
    /// Whether its pair was proven dead or was consumed.
    pub settled: bool,
    /// When it was recorded.
    pub created_at: Millis,
}

/// A signed envelope, as it is recorded before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Its pair.
    pub pair: Pair,
    /// Hash of the whole: of the outer transaction for a fee-bump.
    pub hash: TxHash,
    /// Hash of the inner transaction for a fee-bump.
    pub inner_hash: Option<TxHash>,
    /// The signed bytes, base64 of `TransactionEnvelope`.
    pub xdr: String,
    /// Bid, in stroops.
    pub fee: i64,
    /// Operations it counts for.
    pub operations: i64,
    /// Last close time, in unix seconds, at which a ledger may apply it.
    pub max_time: u64,
}

/// A claimed row: who may record an envelope for it, and with which pair.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The row after the claim; `pair` and `fence` are set.
    pub submission: Submission,
    /// The pair.
    pub pair: Pair,
    /// The claim's token.
    pub fence: Fence,
}

/// What a claim came to.
#[derive(Clone, Debug)]
pub enum ClaimOutcome {
    /// It is ours.
    Claimed(Box<Claim>),
    /// Its key was paid by a transaction that the ledger had forgotten: the row is to be settled by it.
    Paid(Box<Submission>, Box<Recovered>),
    /// Somebody else has it, it is not due, or there is nothing left to do.
    NotDue,
    /// No channel is free, or the cap on submissions in flight is reached. The row may be dispatched again.
    NoChannel,
}

/// A transition to apply, and what goes with it.
#[derive(Clone, Debug)]
pub struct Change {
    /// The row.
    pub id: SubmissionId,
    /// The version that was read before the call whose answer this is.
    pub version: Version,
    /// What happened.
    pub event: Event,
    /// What the row asks for next, if that changes.
    pub sending: Option<SendPlan>,
    /// Shown to staff.
    pub last_error: Option<String>,
    /// Goes into the row for a terminal or indeterminate outcome, and into the log in any case.
    pub evidence: Option<Value>,
    /// The hash that decided.
    pub tx_hash: Option<TxHash>,
    /// The account as the deciding snapshot had it: the next sequence of a freed account follows its `seqNum`, and an
    /// account that is gone is set aside.
    pub account: Option<AccountState>,
    /// Who did it: a role, or a staff member's key.
    pub actor: String,
}

/// What applying a transition came to.
#[derive(Clone, Debug)]
pub enum Applied {
    /// Done; the row as it is now.
    Done(Box<Submission>),
    /// The row has moved since it was read: nothing was written.
    Stale,
    /// The event is illegal where the row stands: nothing was written.
    Illegal(IllegalEvent),
    /// No such row.
    NotFound,
}

/// A row that holds a pair, with everything the reconciler plans from.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The row.
    pub submission: Submission,
    /// The pair it holds.
    pub pair: Pair,
    /// Envelopes recorded for the pair that are not settled, oldest first.
    pub attempts: Vec<Attempt>,
    /// Whether its claim has lapsed (building rows only), by the database's clock.
    pub claim_lapsed: bool,
    /// Whether what `sending` asks for is due, by the database's clock.
    pub send_due: bool,
}

/// State of a channel account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelState {
    /// Ready to be leased.
    Free,
    /// Held by a submission.
    Leased,
    /// Set aside until staff verify it.
    Quarantined,
}

impl ChannelState {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Free, Self::Leased, Self::Quarantined];

    /// The name in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Leased => "leased",
            Self::Quarantined => "quarantined",
        }
    }
}

/// A channel account. SQL holds public keys only.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its address.
    pub account: AccountId,
    /// Whether it can be leased.
    pub state: ChannelState,
    /// The sequence its next transaction takes.
    pub next_sequence: i64,
    /// Who holds it.
    pub leased_by: Option<SubmissionId>,
    /// Why it is set aside.
    pub reason: Option<String>,
}

/// Counts of the pool: free + leased + quarantined = all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Ready.
    pub free: u64,
    /// Held.
    pub leased: u64,
    /// Set aside.
    pub quarantined: u64,
}

/// A due row, ready to be pushed to its lane.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The row.
    pub id: SubmissionId,
    /// Its lane.
    pub priority: Priority,
    /// The job of this round.
    pub job: JobId,
}

/// A line of the transition log.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Version the row had after it.
    pub version: Version,
    /// What happened.
    pub event: String,
    /// From which status to which.
    pub from: String,
    /// From which status to which.
    pub to: String,
    /// Who did it.
    pub actor: String,
    /// Details and evidence.
    pub detail: Option<Value>,
    /// When.
    pub at: Millis,
}

/// Rules that the ledger applies to every transition.
#[derive(Clone, Copy)]
pub struct Rules {
    /// Limits on automatic retries.
    pub budget: Budget,
    /// Delay before the next try after so many failures.
    pub backoff: fn(u32, Duration, Duration) -> Duration,
    /// First argument of the back-off: its base.
    pub backoff_base: Duration,
    /// Its longest delay.
    pub backoff_max: Duration,
    /// How long a claim lasts without recording an envelope.
    pub claim_ttl: Duration,
    /// After recording an envelope the row asks for a resend after this delay, unless an answer says otherwise: whoever
    /// recorded it may have died before sending it.
    pub resend_after: Duration,
    /// Submissions building, submitted or confirming at once (INDETERMINATE ones excepted), over all processes.
    pub max_in_flight: Option<u64>,
}

/// Why the ledger could not do it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LedgerError {
    /// Nothing was written; another try can help.
    #[error("the ledger is not reachable: {0}")]
    Unavailable(String),
    /// The commit's answer was lost: it may have been written.
    #[error("the outcome of a commit is unknown: {0}")]
    CommitUnknown(String),
    /// The database's settings or schema do not allow safe work.
    #[error("the ledger is not fit for use: {0}")]
    Unfit(String),
    /// The ledger was set back, or may have been: it decides nothing until its memory is recovered. Nothing was written.
    #[error("the ledger's memory was lost, so nothing is sent or decided: {0}")]
    MemoryLost(String),
    /// A row does not read as what was written.
    #[error("a row of the ledger cannot be read: {0}")]
    Corrupt(String),
}

impl Change {
    /// A transition of a row as it was read, with nothing else to note.
    #[must_use]
    pub fn new(read: &Submission, event: Event, actor: &str) -> Self {
        Self::of(read.id, read.version, event, actor)
    }

    /// A transition of the row of that id and version, with nothing else to note.
    #[must_use]
    pub fn of(id: SubmissionId, version: Version, event: Event, actor: &str) -> Self {
        Self {
            id,
            version,
            event,
            sending: None,
            last_error: None,
            evidence: None,
            tx_hash: None,
            account: None,
            actor: actor.to_owned(),
        }
    }
}
