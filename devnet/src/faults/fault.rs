//! What can go wrong with a call, and with a ledger.

use super::rule::RuleError;
use crate::past::MAX_LAG;
use crate::rpc::Method;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest time a connection is held without an answer, and longest time an answer is slow.
pub const LONGEST_HANG: Duration = Duration::from_mins(1);

/// Most ledgers a fault lasts or looks back.
pub const MAX_LEDGERS: u32 = 10_000;

/// Largest answer that is padded on purpose, in bytes.
pub const MAX_OVERSIZE: u32 = 64 * 1024 * 1024;

/// Farthest that close times stray from the clock, in seconds.
pub const LONGEST_SKEW_S: u32 = 60;

/// What the client sees instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Loss {
    /// The connection is reset.
    Reset,
    /// Nothing, until the client gives up or [`LONGEST_HANG`] is over.
    Hang,
    /// HTTP status 429.
    TooManyRequests,
    /// HTTP status 502.
    BadGateway,
    /// HTTP status 503.
    ServiceUnavailable,
    /// HTTP status 504.
    GatewayTimeout,
    /// JSON-RPC error -32603.
    RpcInternal,
    /// JSON-RPC error -32001: the method took too long.
    RpcProcessingLimit,
    /// JSON-RPC error -32098: the method's queue is full.
    RpcQueueFull,
}

/// When an envelope that was held back gets into a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Release {
    /// After that many further ledgers have closed without it.
    After(u32),
    /// In the last ledger its bounds allow, as far as it can be told from the pace of closes so far; without bounds, after
    /// a hundred ledgers.
    LastValid,
}

/// How an answer is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Malformed {
    /// A page of HTML with status 200, as proxies send it.
    Html,
    /// The first half of the answer.
    Truncated,
    /// JSON-RPC with a string where the result's fields should be.
    WrongShape,
    /// No body at all.
    Empty,
}

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Fault {
    /// The call was done, for instance the envelope taken, and its answer is lost.
    AnswerLostAfterAccept(Loss),
    /// The request is lost: the network never saw it.
    AnswerLostBeforeAccept(Loss),
    /// `sendTransaction` answers a status that no documentation knows.
    UnknownStatus {
        /// Whether the node took the envelope.
        taken: bool,
    },
    /// `sendTransaction` answers `TRY_AGAIN_LATER`.
    TryAgainLater {
        /// Whether the node took the envelope.
        taken: bool,
    },
    /// `sendTransaction` refuses with `txBAD_SEQ`, without taking the envelope, while the last transaction of its source
    /// is less than that many ledgers old: the one after it, as a node does that has not seen it yet, and the same one
    /// again, as a node does that never banned it. Other envelopes are judged as always.
    BadSequence {
        /// For how many ledgers.
        ledgers: u32,
    },
    /// This node does not propose the envelope it takes; another one has it too and gets it into a ledger later. This
    /// node's queue forgets it by the usual rules.
    Held {
        /// When the other one does.
        until: Release,
        /// Whether this node drops and bans it at once, so that the same bytes get `TRY_AGAIN_LATER` from then on.
        dropped: bool,
    },
    /// Transactions are not found, and lists of transactions and events stop before them, until their ledger is that
    /// many ledgers old. The latest ledger is told as it is.
    IndexLag {
        /// For how many ledgers.
        ledgers: u32,
    },
    /// Everything is answered as of that many ledgers ago, and an envelope is judged by what was true then.
    Lag {
        /// How many ledgers; at most [`MAX_LAG`].
        ledgers: u32,
    },
    /// The node has only that many ledgers of history.
    ShortHistory {
        /// How many ledgers, the latest included; at least 1.
        ledgers: u32,
    },
    /// The answer comes late.
    Slow {
        /// By how many milliseconds; at most those of [`LONGEST_HANG`].
        ms: u32,
    },
    /// The answer tells another transaction's hash.
    WrongHash,
    /// The answer cannot be read.
    Malformed(Malformed),
    /// The answer is right but huge.
    Oversized {
        /// How many bytes; at most [`MAX_OVERSIZE`].
        bytes: u32,
    },
}

impl Fault {
    /// Whether a call of this method can go wrong so.
    #[must_use]
    pub fn concerns(self, method: Method) -> bool {
        match self {
            Self::UnknownStatus { .. }
            | Self::TryAgainLater { .. }
            | Self::BadSequence { .. }
            | Self::Held { .. } => method == Method::SendTransaction,
            Self::IndexLag { .. } => matches!(
                method,
                Method::GetTransaction | Method::GetTransactions | Method::GetEvents
            ),
            Self::WrongHash => {
                matches!(method, Method::SendTransaction | Method::GetTransaction)
            }
            Self::AnswerLostAfterAccept(_)
            | Self::AnswerLostBeforeAccept(_)
            | Self::Lag { .. }
            | Self::ShortHistory { .. }
            | Self::Slow { .. }
            | Self::Malformed(_)
            | Self::Oversized { .. } => true,
        }
    }

    pub(super) fn check(self) -> Result<(), RuleError> {
        let most = LONGEST_HANG.as_millis();
        match self {
            Self::BadSequence { ledgers }
            | Self::IndexLag { ledgers }
            | Self::ShortHistory { ledgers }
            | Self::Held {
                until: Release::After(ledgers),
                ..
            } => within("ledgers", ledgers, 1, MAX_LEDGERS),
            Self::Lag { ledgers } => within("ledgers", ledgers, 1, MAX_LAG),
            Self::Slow { ms } => within("ms", ms, 1, u32::try_from(most).unwrap_or(u32::MAX)),
            Self::Oversized { bytes } => within("bytes", bytes, 1, MAX_OVERSIZE),
            Self::AnswerLostAfterAccept(_)
            | Self::AnswerLostBeforeAccept(_)
            | Self::UnknownStatus { .. }
            | Self::TryAgainLater { .. }
            | Self::Held {
                until: Release::LastValid,
                ..
            }
            | Self::WrongHash
            | Self::Malformed(_) => Ok(()),
        }
    }
}

/// What goes wrong with the closing of ledgers, from the one it is decided for on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum CloseFault {
    /// Ledgers close without transactions; those that wait grow older.
    Empty {
        /// How many ledgers.
        ledgers: u32,
    },
    /// Ledgers are full of better bids: lower ones are not included, and included ones pay the least bid that was.
    FeeSurge {
        /// Stroops per operation that get in.
        min_bid: u32,
        /// How many ledgers.
        ledgers: u32,
        /// Whether the queue is full too: after the first of these ledgers lower bids are refused with
        /// `txINSUFFICIENT_FEE` and banned, as a real full queue does.
        #[serde(default)]
        queue_full: bool,
    },
    /// Close times are ahead of the clock, or behind it if negative. They increase all the same.
    Skew {
        /// By how many seconds; at most [`LONGEST_SKEW_S`] either way.
        seconds: i32,
        /// How many ledgers.
        ledgers: u32,
    },
    /// No ledger closes.
    Stall {
        /// For how many intervals of the timer, or attempts by hand.
        intervals: u32,
    },
}

impl CloseFault {
    pub(super) fn check(self) -> Result<(), RuleError> {
        match self {
            Self::Empty { ledgers } => within("ledgers", ledgers, 1, MAX_LEDGERS),
            Self::FeeSurge {
                min_bid, ledgers, ..
            } => {
                within("minBid", min_bid, 1, u32::MAX)?;
                within("ledgers", ledgers, 1, MAX_LEDGERS)
            }
            Self::Skew { seconds, ledgers } => {
                within("seconds", seconds.unsigned_abs(), 0, LONGEST_SKEW_S)?;
                within("ledgers", ledgers, 1, MAX_LEDGERS)
            }
            Self::Stall { intervals } => within("intervals", intervals, 1, MAX_LEDGERS),
        }
    }
}

fn within(field: &'static str, found: u32, least: u32, most: u32) -> Result<(), RuleError> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(RuleError::OutOfRange {
        field,
        found,
        least,
        most,
    })
}
