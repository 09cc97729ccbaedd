//! What makes a verdict safe to believe, in the form it is stored and shown.

use serde_json::{Value, json};

use super::assess::Snapshot;
use crate::domain::ids::{Pair, TxHash};
use crate::ledger::{Attempt, Lease};
use crate::stellar::rpc::{Landed, Lookup};

/// The expected event was seen among the treasury's events.
pub(super) fn landed(landing: &Landed) -> Value {
    json!({
        "proof": "event",
        "ledger": landing.ledger,
        "closed_at": landing.closed_at.to_string(),
        "tx_hash": landing.hash.to_string(),
    })
}

/// A transaction was looked up by hash and found in a ledger.
pub(super) fn looked_up(
    lookup: &Lookup,
    attempts: &[Attempt],
    snapshot: Option<&Snapshot>,
) -> Value {
    json!({
        "proof": "ledger",
        "ledger": lookup.ledger,
        "closed_at": lookup.closed_at.map(|at| at.to_string()),
        "fee_charged": lookup.fee_charged.map(|fee| fee.to_string()),
        "hashes": hashes(attempts),
        "snapshot": snapshot.map(account),
    })
}

/// The account's state proves that no envelope of the pair was or will be applied.
pub(super) fn dead(lease: &Lease, snapshot: &Snapshot) -> Value {
    json!({
        "proof": "account_state",
        "sequence": lease.pair.sequence.to_string(),
        "max_time": lease.attempts.iter().map(|attempt| attempt.envelope.max_time).max().map(|at| at.to_string()),
        "hashes": hashes(&lease.attempts),
        "snapshot": account(snapshot),
    })
}

/// The pair is used, and what is known of its consumer.
pub(super) fn consumed(
    attempts: &[Attempt],
    pair: Pair,
    snapshot: &Snapshot,
    consumer: Option<TxHash>,
    oldest_ledger: Option<u32>,
) -> Value {
    json!({
        "proof": if consumer.is_some() { "consumer_seen" } else { "none" },
        "sequence": pair.sequence.to_string(),
        "consumer": consumer.map(|hash| hash.to_string()),
        "oldest_ledger": oldest_ledger,
        "hashes": hashes(attempts),
        "snapshot": account(snapshot),
    })
}

fn account(snapshot: &Snapshot) -> Value {
    json!({
        "ledger": snapshot.ledger,
        "account_sequence": snapshot.state.sequence().map(|sequence| sequence.to_string()),
        "closed_ledger": snapshot.closed.ledger,
        "closed_at": snapshot.closed.close_time.to_string(),
    })
}

fn hashes(attempts: &[Attempt]) -> Vec<String> {
    attempts
        .iter()
        .map(|attempt| attempt.envelope.hash.to_string())
        .collect()
}
