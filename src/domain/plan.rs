//! The reconciler's decisions about a held pair, from the account's state and from look-ups.
//!
//! Two questions, asked in turn. [`assess`]: does the account's state alone say what to do? [`conclude`]: the pair is
//! used; do the look-ups of its hashes say by which envelope, and with what effect?

use super::classify::{Cause, failure_cause};
use super::codes::{Failure, TxCode};
use super::ids::Pair;
use super::submission::{Event, Gap};

/// No send within so many seconds before `max_time`: a node refuses about two target close times (10 s) early.
pub const SEND_MARGIN_S: u64 = 15;

/// What the ledger knows of a held pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The pair.
    pub pair: Pair,
    /// `max_time` of every envelope recorded for it that is not proven dead yet, in unix seconds.
    pub max_times: Vec<u64>,
    /// What its row is up to.
    pub sending: Sending,
}

/// What the row of a held pair is up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sending {
    /// Nothing of it can be alive: the row waits for its turn or is being built.
    Idle,
    /// An envelope is out and nothing is due.
    Waiting,
    /// The same bytes are due to be sent again.
    ResendDue,
    /// A higher bid is due: at least so many stroops in all would have been enough.
    RaiseDue {
        /// Full fee the network asked for.
        required: i64,
    },
    /// Sending again changes nothing.
    Stopped(Cause),
}

/// An account in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountState {
    /// It does not exist.
    Absent,
    /// It exists.
    Present {
        /// Its sequence number.
        sequence: i64,
        /// The ledger in which the sequence took that value, if the account tells.
        since_ledger: Option<u32>,
    },
}

impl AccountState {
    /// Its sequence number, if it exists.
    #[must_use]
    pub fn sequence(self) -> Option<i64> {
        match self {
            Self::Absent => None,
            Self::Present { sequence, .. } => Some(sequence),
        }
    }
}

/// A step for one held pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing to do before the next ledger.
    Wait,
    /// Send the recorded bytes again.
    Resend,
    /// Wrap the same inner transaction in a fee-bump with a higher bid.
    RaiseFee {
        /// Full fee the network asked for.
        required: i64,
    },
    /// No envelope of the pair was or will be applied.
    Dead(Cause, Gap),
    /// The pair is used: look every hash of it up.
    LookUp {
        /// The ledger that used it, when the account still tells.
        at_ledger: Option<u32>,
    },
    /// The pair is used although nothing of ours was alive.
    IdleConsumed {
        /// The ledger that used it, when the account still tells.
        at_ledger: Option<u32>,
    },
    /// The account is gone and every envelope has expired: set it aside and look every hash up.
    AccountGone,
}

/// Decides from one snapshot.
///
/// `closed` is the close time (unix seconds) of a ledger that is at or before the snapshot's ledger. The snapshot must
/// be one answer of one node: sequences of different answers prove nothing together.
#[must_use]
pub fn assess(held: &Held, account: AccountState, closed: u64) -> Step {
    // Without a recorded envelope nothing is known to have expired.
    let expired =
        !held.max_times.is_empty() && held.max_times.iter().all(|max_time| *max_time < closed);
    match account {
        AccountState::Absent if held.sending == Sending::Idle || !expired => Step::Wait,
        AccountState::Absent => Step::AccountGone,
        AccountState::Present {
            sequence,
            since_ledger,
        } if sequence >= held.pair.sequence => {
            let at_ledger = since_ledger.filter(|_| sequence == held.pair.sequence);
            match held.sending {
                Sending::Idle => Step::IdleConsumed { at_ledger },
                Sending::Waiting
                | Sending::ResendDue
                | Sending::RaiseDue { .. }
                | Sending::Stopped(_) => Step::LookUp { at_ledger },
            }
        }
        AccountState::Present { sequence, .. } => {
            let gap = if sequence < held.pair.sequence - 1 {
                Gap::Below
            } else {
                Gap::None
            };
            unused(held, expired, gap, closed)
        }
    }
}

fn unused(held: &Held, expired: bool, gap: Gap, closed: u64) -> Step {
    // Behind a gap a node refuses it: it waits for its turn, however long what comes before it takes.
    let sendable = gap == Gap::None
        && held
            .max_times
            .iter()
            .any(|max_time| closed.saturating_add(SEND_MARGIN_S) < *max_time);
    match &held.sending {
        Sending::Idle => Step::Wait,
        Sending::Stopped(cause) if expired => Step::Dead(cause.clone(), gap),
        Sending::Waiting | Sending::ResendDue | Sending::RaiseDue { .. } if expired => {
            Step::Dead(Cause::expired(), gap)
        }
        Sending::ResendDue if sendable => Step::Resend,
        Sending::RaiseDue { required } if sendable => Step::RaiseFee {
            required: *required,
        },
        Sending::Waiting | Sending::Stopped(_) | Sending::ResendDue | Sending::RaiseDue { .. } => {
            Step::Wait
        }
    }
}

/// What a look-up of one hash found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// In a ledger, succeeded.
    Success(Effect),
    /// In a ledger, failed.
    Failed(Failure),
    /// Not in the node's index. That alone proves nothing.
    NotFound,
    /// No usable answer.
    Unknown,
}

/// Whether a successful transaction had the expected effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The expected event is among its events.
    Matched,
    /// Its events are there, without the expected one.
    Missing,
    /// Its events are absent from the answer.
    Unknown,
}

impl Finding {
    /// What two nodes' look-ups of one hash say together: whoever found more is believed, since no node is expected to
    /// invent a ledger. A node without an answer may have it.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self.weight() >= other.weight() {
            self
        } else {
            other
        }
    }

    fn weight(self) -> u8 {
        match self {
            Self::NotFound => 0,
            Self::Unknown => 1,
            Self::Failed(_) => 2,
            Self::Success(Effect::Unknown) => 3,
            Self::Success(Effect::Missing) => 4,
            Self::Success(Effect::Matched) => 5,
        }
    }
}

/// What a transaction in a ledger came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded with the expected event.
    Succeeded,
    /// It succeeded without the expected event.
    EffectMissing,
    /// It used the pair and failed.
    Failed(Cause),
}

impl Outcome {
    /// What that is to the submission.
    #[must_use]
    pub fn into_event(self) -> Event {
        match self {
            Self::Succeeded => Event::Succeeded,
            Self::EffectMissing => Event::EffectMissing,
            Self::Failed(cause) => Event::LedgerFailed(cause),
        }
    }

    /// The code shown to staff, if it is none of success.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Succeeded => None,
            Self::EffectMissing => Some("effect_missing"),
            Self::Failed(cause) => Some(&cause.code),
        }
    }
}

/// What the look-ups of all hashes of a used pair say together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The finding at that place decides.
    Decided(usize, Outcome),
    /// Nothing can be said yet.
    KeepLooking,
    /// No envelope of ours is indexed: scan the ledgers for the transaction that used the pair.
    Scan,
}

/// Concludes from the look-ups of **every** hash of a used pair.
#[must_use]
pub fn conclude(findings: &[Finding]) -> Conclusion {
    let mut spent_by_failure = None;
    let mut open = false;
    for (place, finding) in findings.iter().enumerate() {
        match finding {
            Finding::Success(Effect::Matched) => {
                return Conclusion::Decided(place, Outcome::Succeeded);
            }
            Finding::Success(Effect::Missing) => {
                return Conclusion::Decided(place, Outcome::EffectMissing);
            }
            Finding::Success(Effect::Unknown) | Finding::Unknown => open = true,
            Finding::Failed(failure) if uses_sequence(*failure) => {
                spent_by_failure.get_or_insert((place, *failure));
            }
            Finding::Failed(_) | Finding::NotFound => {}
        }
    }
    match (open, spent_by_failure) {
        (true, _) => Conclusion::KeepLooking,
        (false, Some((place, failure))) => {
            Conclusion::Decided(place, Outcome::Failed(failure_cause(failure)))
        }
        (false, None) => Conclusion::Scan,
    }
}

/// How far past the last `max_time` of a used pair its outcome is looked for before staff are called, in seconds of
/// chain time. Nodes that keep events back, or do not answer, must not hold the account and the row in silence.
pub const LOOKING_S: u64 = 600;

/// Whether a used pair's outcome has been looked for long enough, by the close time of a ledger.
#[must_use]
pub fn looked_long_enough(held: &Held, closed: u64) -> bool {
    held.max_times
        .iter()
        .all(|max_time| max_time.saturating_add(LOOKING_S) < closed)
}

/// Whether a transaction that failed so in a ledger used its sequence. One that did not cannot be the pair's consumer:
/// an envelope that succeeded may only be missing from the index.
fn uses_sequence(failure: Failure) -> bool {
    match failure {
        Failure::Tx(TxCode::BadSeq | TxCode::NoAccount) => false,
        Failure::Tx(_) | Failure::Op(_) | Failure::Unrecognized(_) => true,
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
