//! What transitions do to pairs: a channel account changes in the transaction that records why.

use sea_orm::sea_query::{CaseStatement, Expr, UpdateStatement};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DatabaseTransaction, EntityTrait, QueryFilter,
    QueryTrait,
};

use super::clock;
use super::entity::{attempt, channel};
use super::transition::Move;
use super::types::{Change, ChannelState, LedgerError, Submission};
use crate::domain::ids::{Pair, SubmissionId};
use crate::domain::plan::AccountState;
use crate::domain::submission::{Event, PairFate};

/// Carries out what the domain decided about the rows' pairs.
pub(super) async fn carry_out(
    tx: &DatabaseTransaction,
    moves: &[Move<'_>],
) -> Result<(), LedgerError> {
    let (mut settled, mut free) = (Vec::new(), Vec::new());
    for done in moves {
        let Move { before, after, .. } = done;
        if done.fate == PairFate::Lease {
            match after.pair {
                _ if before.state.holds_pair => {}
                Some(pair) => step!("pair.lease", lease(tx, after, pair).await)?,
                None => return Err(broken(after, "a claim without a pair")),
            }
            continue;
        }
        let held = before.pair.filter(|_| before.state.holds_pair);
        let dead = matches!(done.change.event, Event::ProvenDead(..));
        settled.extend(
            held.filter(|_| dead || !after.state.holds_pair)
                .map(|pair| (before.id, pair)),
        );
        match given(done, held)? {
            None => {}
            Some(Give::Free(sequence)) => free.push((before.id, sequence)),
            Some(Give::Quarantine(reason)) => {
                step!("pair.quarantine", quarantine(tx, before, reason).await)?;
            }
        }
    }
    settle(tx, &settled).await?;
    set_free(tx, &free).await
}

/// What becomes of the account of the pair that the row held, if it is given back.
fn given(done: &Move<'_>, held: Option<Pair>) -> Result<Option<Give>, LedgerError> {
    let Move {
        before,
        change,
        fate,
        ..
    } = done;
    Ok(Some(match (fate, held) {
        (PairFate::Keep | PairFate::Lease, _) => return Ok(None),
        (_, None) => return Err(broken(before, "a pair is given back that is not held")),
        (PairFate::Spent, Some(pair)) => match change.account {
            Some(AccountState::Absent) => {
                Give::Quarantine("it no longer exists on the network".to_owned())
            }
            Some(AccountState::Present { sequence, .. }) => {
                Give::Free(following(before, sequence.max(pair.sequence))?)
            }
            None => Give::Free(following(before, pair.sequence)?),
        },
        (PairFate::Unused, Some(pair)) => Give::Free(pair.sequence),
        (PairFate::Reseed, Some(_)) => match change.account {
            Some(AccountState::Present { sequence, .. }) => {
                Give::Free(following(before, sequence)?)
            }
            Some(AccountState::Absent) | None => {
                Give::Quarantine("a gap below its pair, and its sequence was not told".to_owned())
            }
        },
        (PairFate::Quarantine, Some(pair)) => Give::Quarantine(reason(before, pair, change)),
    }))
}

fn reason(row: &Submission, pair: Pair, change: &Change) -> String {
    let why = change.last_error.as_ref().map(|why| format!(": {why}"));
    format!(
        "{} at sequence {} of submission {}{}",
        change.event.as_str(),
        pair.sequence,
        row.id,
        why.unwrap_or_default()
    )
}

/// What becomes of an account that is given back.
enum Give {
    /// It can be leased again, with that sequence.
    Free(i64),
    /// It is set aside for that reason.
    Quarantine(String),
}

fn following(row: &Submission, sequence: i64) -> Result<i64, LedgerError> {
    sequence
        .checked_add(1)
        .ok_or_else(|| broken(row, "the last sequence of all was used"))
}

fn broken(row: &Submission, what: &str) -> LedgerError {
    LedgerError::Corrupt(format!("submission {}: {what}", row.id))
}

/// Marks the pairs' envelopes as dead or consumed.
async fn settle(
    tx: &DatabaseTransaction,
    pairs: &[(SubmissionId, Pair)],
) -> Result<(), LedgerError> {
    use attempt::Column as C;
    if pairs.is_empty() {
        return Ok(());
    }
    let of_pairs = pairs.iter().fold(Condition::any(), |any, (id, pair)| {
        any.add(
            Condition::all()
                .add(C::SubmissionId.eq(id.0))
                .add(C::SourceAccount.eq(pair.account.to_string()))
                .add(C::Sequence.eq(pair.sequence)),
        )
    });
    let update = attempt::Entity::update_many()
        // Says nothing new, but lets the index find the rows however many pairs there are.
        .filter(C::SubmissionId.is_in(pairs.iter().map(|(id, _)| id.0)))
        .filter(of_pairs)
        .filter(C::Settled.eq(false))
        .col_expr(C::Settled, Expr::val(true));
    step!("pair.settle", update.exec(tx).await)?;
    Ok(())
}

async fn lease(tx: &DatabaseTransaction, row: &Submission, pair: Pair) -> Result<(), LedgerError> {
    use channel::Column as C;
    let mut update = channel::Entity::update_many()
        .filter(C::Account.eq(pair.account.to_string()))
        .filter(C::State.eq(ChannelState::Free.as_str()))
        .filter(C::NextSequence.eq(pair.sequence))
        .into_query();
    update
        .value(C::State, ChannelState::Leased.as_str())
        .value(C::LeasedBy, row.id.0)
        .value(C::LastUsedAt, clock::now(tx));
    write_one(tx, row, &update).await
}

/// Frees the accounts that submissions hold, each with its next sequence.
async fn set_free(
    tx: &DatabaseTransaction,
    held: &[(SubmissionId, i64)],
) -> Result<(), LedgerError> {
    use channel::Column as C;
    let sequences = held.iter().fold(CaseStatement::new(), |case, (id, next)| {
        case.case(C::LeasedBy.eq(id.0), *next)
    });
    let mut update = given_back(tx, held.iter().map(|(id, _)| *id));
    update
        .value(C::State, ChannelState::Free.as_str())
        .value(C::NextSequence, sequences);
    if held.is_empty() {
        return Ok(());
    }
    let freed = step!("pair.free", tx.execute(&update).await)?;
    if freed.rows_affected() == held.len() as u64 {
        return Ok(());
    }
    Err(LedgerError::Corrupt(format!(
        "of the submissions {:?} one holds no channel account",
        held.iter()
            .map(|(id, _)| id.to_string())
            .collect::<Vec<_>>()
    )))
}

async fn quarantine(
    tx: &DatabaseTransaction,
    row: &Submission,
    reason: String,
) -> Result<(), LedgerError> {
    use channel::Column as C;
    let mut update = given_back(tx, [row.id]);
    update
        .value(C::State, ChannelState::Quarantined.as_str())
        .value(C::Reason, reason);
    write_one(tx, row, &update).await
}

/// Takes the accounts from the submissions that hold them.
fn given_back(
    tx: &DatabaseTransaction,
    holders: impl IntoIterator<Item = SubmissionId>,
) -> UpdateStatement {
    use channel::Column as C;
    let mut update = channel::Entity::update_many()
        .filter(C::LeasedBy.is_in(holders.into_iter().map(|id| id.0)))
        .filter(C::State.eq(ChannelState::Leased.as_str()))
        .into_query();
    update
        .value(C::LeasedBy, None::<sea_orm::prelude::Uuid>)
        .value(C::LastUsedAt, clock::now(tx));
    update
}

async fn write_one(
    tx: &DatabaseTransaction,
    row: &Submission,
    update: &UpdateStatement,
) -> Result<(), LedgerError> {
    if tx.execute(update).await?.rows_affected() == 1 {
        return Ok(());
    }
    Err(broken(
        row,
        "its channel account is not where its lease says",
    ))
}
