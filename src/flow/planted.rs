//! Bugs planted on purpose, in builds that only tests make: what finds nothing wrong with these finds nothing.

use crate::domain::classify::{Cause, SendAnswer};
use crate::domain::submission::{Event, Gap};
use crate::ledger::{Change, Submission};

/// The recipe that pays twice: an answer that never came is read as a failure, and the payment is built anew with the
/// next sequence.
pub(super) fn rebuild_on_timeout(row: &Submission, answer: &SendAnswer, change: Change) -> Change {
    match answer {
        SendAnswer::Unknown(_) => Change {
            account_sequence: row.pair.map(|pair| pair.sequence),
            ..Change::new(
                row,
                Event::ProvenDead(Cause::expired(), Gap::Below),
                "planted",
            )
        },
        SendAnswer::Pending
        | SendAnswer::Duplicate
        | SendAnswer::TryAgainLater
        | SendAnswer::Refused(_) => change,
    }
}
