//! Bugs planted on purpose, in builds that only tests make: what finds nothing wrong with these finds nothing.

use crate::domain::classify::{Cause, SendAnswer};
use crate::domain::plan::AccountState;
use crate::domain::submission::{Event, Gap};
use crate::ledger::{Change, Submission};

/// The recipe that pays twice: an answer that never came is read as a failure, and the payment is built anew with the
/// next sequence.
pub(super) fn rebuild_on_timeout(row: &Submission, answer: &SendAnswer, change: Change) -> Change {
    match answer {
        SendAnswer::Unknown(_) => Change {
            account: row.pair.map(|pair| AccountState::Present {
                sequence: pair.sequence,
                since_ledger: None,
            }),
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
