//! Bugs planted on purpose, in builds that only tests make: what finds nothing wrong with these finds nothing.
//!
//! Each is a shortcut that somebody has taken somewhere, and each pays somebody twice or loses a payment.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::domain::classify::{Cause, Class, Refusal, SendAnswer};
use crate::domain::codes::{Failure, TxCode};
use crate::domain::plan::AccountState;
use crate::domain::submission::{Event, Gap};
use crate::ledger::planted::{BUMPS_MOVE_NOTHING, GAPS_ARE_SKIPPED};
use crate::ledger::{Attempt, Change, Ledger, LedgerError, Submission};
use crate::stellar::rpc::Seen;

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// An answer that never came is read as a failure, and the payment is built anew with the next sequence.
    RebuiltOnTimeout,
    /// This machine's clock decides whether an envelope has expired.
    LocalClockExpires,
    /// A hash that no node finds has failed.
    NotFoundIsFailed,
    /// A send without an answer gives its channel account back.
    LeaseFreedOnTimeout,
    /// The envelope is sent, and recorded after that.
    SentBeforeRecorded,
    /// A bid that is too low is raised by another inner transaction, with the next sequence.
    BumpOfANewInner,
    /// What a reconciler decided is written whatever others have done meanwhile.
    ReconcilersNotFenced,
    /// A row whose sends went unanswered too often has failed.
    BudgetIsProof,
    /// A worker whose only send is refused fails its row, though a reconciler may be sending it too.
    RefusalIsProof,
    /// A used pair whose hashes are not found was used by somebody else.
    NotFoundIsForeign,
    /// Recording a fee-bump does not move its row's version.
    BumpMovesNoVersion,
    /// Every hash of a row settles it, those of its older pairs too.
    OlderPairSettles,
    /// Whoever is told that its sequence is wrong takes the one that comes next.
    ReseededOnBadSequence,
    /// A shared account goes on after a sequence that was given back unused.
    GapIsSkipped,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::RebuiltOnTimeout,
        Self::LocalClockExpires,
        Self::NotFoundIsFailed,
        Self::LeaseFreedOnTimeout,
        Self::SentBeforeRecorded,
        Self::BumpOfANewInner,
        Self::ReconcilersNotFenced,
        Self::BudgetIsProof,
        Self::RefusalIsProof,
        Self::NotFoundIsForeign,
        Self::BumpMovesNoVersion,
        Self::OlderPairSettles,
        Self::ReseededOnBadSequence,
        Self::GapIsSkipped,
    ];
}

/// A build with bugs that is told nothing else pays twice: `demo` has to see it.
static PLANTED: Mutex<Option<Bug>> = Mutex::new(Some(Bug::RebuiltOnTimeout));

/// Versions after which [`Bug::BudgetIsProof`] has had enough.
const PATIENCE: i64 = 4;

/// Plants a bug in this process, instead of the one before.
pub fn plant(bug: Option<Bug>) {
    *PLANTED.lock().unwrap_or_else(PoisonError::into_inner) = bug;
    let moves_nothing = bug == Some(Bug::BumpMovesNoVersion);
    BUMPS_MOVE_NOTHING.store(moves_nothing, Ordering::Relaxed);
    GAPS_ARE_SKIPPED.store(bug == Some(Bug::GapIsSkipped), Ordering::Relaxed);
}

pub(super) fn planted() -> Option<Bug> {
    *PLANTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is made of an answer to a send.
pub(super) async fn after_send(
    ledger: &Ledger,
    row: &Submission,
    answer: &SendAnswer,
    change: Change,
) -> Result<Change, LedgerError> {
    let refusal = match answer {
        SendAnswer::Refused(Refusal {
            failure: Failure::Tx(code),
            ..
        }) => Some(*code),
        _ => None,
    };
    let low_bid = refusal == Some(TxCode::InsufficientFee);
    let bad_sequence = refusal == Some(TxCode::BadSeq);
    Ok(match (planted(), answer) {
        (Some(Bug::RebuiltOnTimeout), SendAnswer::Unknown(_)) => start_over(row, 1),
        (Some(Bug::LeaseFreedOnTimeout), SendAnswer::Unknown(_)) => start_over(row, 0),
        (Some(Bug::BumpOfANewInner), _) if low_bid => start_over(row, 1),
        (Some(Bug::ReseededOnBadSequence), _) if bad_sequence => start_over(row, 1),
        (Some(Bug::BudgetIsProof), SendAnswer::Unknown(_)) if row.version.0 > PATIENCE => {
            failed(row)
        }
        (Some(Bug::RefusalIsProof), SendAnswer::Refused(_)) if row.attempt_count == 1 => {
            unfenced(ledger, failed(row)).await?
        }
        _ => change,
    })
}

/// Gives the account up: its next sequence is so many after the row's.
fn start_over(row: &Submission, further: i64) -> Change {
    Change {
        account: row.pair.map(|pair| AccountState::Present {
            sequence: pair.sequence + further - 1,
            since_ledger: None,
        }),
        ..Change::new(
            row,
            Event::ProvenDead(Cause::expired(), Gap::Below),
            "planted",
        )
    }
}

fn terminal() -> Cause {
    Cause {
        class: Class::Terminal,
        code: "planted".to_owned(),
    }
}

fn failed(row: &Submission) -> Change {
    Change::new(row, Event::ProvenDead(terminal(), Gap::None), "planted")
}

/// The change as if it had been decided just now.
async fn unfenced(ledger: &Ledger, change: Change) -> Result<Change, LedgerError> {
    let row = ledger.submission(change.id).await?;
    Ok(Change {
        version: row.map_or(change.version, |row| row.version),
        ..change
    })
}

/// What a reconciler is about to write.
pub(super) async fn before_write(ledger: &Ledger, change: Change) -> Result<Change, LedgerError> {
    if planted() == Some(Bug::ReconcilersNotFenced) {
        return unfenced(ledger, change).await;
    }
    Ok(change)
}

/// The ledger by whose close time envelopes expire.
pub(super) fn clock(closed: Seen) -> Seen {
    if planted() != Some(Bug::LocalClockExpires) {
        return closed;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Seen {
        close_time: now.map_or(closed.close_time, |now| now.as_secs()),
        ..closed
    }
}

/// What it means that no node finds any hash of a used pair.
pub(super) fn not_found() -> Option<Event> {
    match planted()? {
        Bug::NotFoundIsFailed => Some(Event::LedgerFailed(terminal())),
        Bug::NotFoundIsForeign => Some(Event::ConsumedByForeign),
        _ => None,
    }
}

/// The envelopes whose hashes settle a row.
pub(super) async fn to_look_up(
    ledger: &Ledger,
    row: &Submission,
    attempts: &[Attempt],
) -> Result<Vec<Attempt>, LedgerError> {
    if planted() == Some(Bug::OlderPairSettles) {
        return ledger.attempts(row.id).await;
    }
    Ok(attempts.to_vec())
}

/// Whether envelopes are sent before they are recorded.
pub(super) fn sends_first() -> bool {
    planted() == Some(Bug::SentBeforeRecorded)
}
