//! What transitions do to pairs: a channel account changes in the transaction that records why.

use std::collections::HashSet;

use sea_orm::sea_query::{CaseStatement, Expr, Query, UpdateStatement};
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
                Some(_) if !done.leases => {}
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
            Some(Given::Free(freed)) => free.push(freed),
            Some(Given::Quarantine(pair, reason)) => {
                step!(
                    "pair.quarantine",
                    quarantine(tx, before, pair, reason).await
                )?;
            }
        }
    }
    settle(tx, &settled).await?;
    set_free(tx, &free).await
}

/// What becomes of the pair that the row held, and of its account, if it is given back.
fn given(done: &Move<'_>, held: Option<Pair>) -> Result<Option<Given>, LedgerError> {
    let Move {
        before,
        change,
        fate,
        ..
    } = done;
    let pair = match (fate, held) {
        (PairFate::Keep | PairFate::Lease, _) => return Ok(None),
        (_, None) => return Err(broken(before, "a pair is given back that is not held")),
        (_, Some(pair)) => pair,
    };
    let (used, next) = match (fate, change.account) {
        (PairFate::Keep | PairFate::Lease, _) => return Ok(None),
        (PairFate::Spent, Some(AccountState::Absent)) => {
            let reason = "it no longer exists on the network".to_owned();
            return Ok(Some(Given::Quarantine(pair, reason)));
        }
        (PairFate::Spent, Some(AccountState::Present { sequence, .. })) => {
            (true, following(before, sequence.max(pair.sequence))?)
        }
        (PairFate::Spent, None) => (true, following(before, pair.sequence)?),
        (PairFate::Unused, _) => (false, pair.sequence),
        (PairFate::Reseed, Some(AccountState::Present { sequence, .. })) => {
            (false, following(before, sequence)?)
        }
        (PairFate::Reseed, Some(AccountState::Absent) | None) => {
            let reason = "a gap below its pair, and its sequence was not told".to_owned();
            return Ok(Some(Given::Quarantine(pair, reason)));
        }
        (PairFate::Quarantine, _) => {
            return Ok(Some(Given::Quarantine(pair, reason(before, pair, change))));
        }
    };
    Ok(Some(Given::Free(Freed {
        holder: before.id,
        pair,
        used,
        next,
    })))
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

/// A pair that is given back, and what becomes of its account.
enum Given {
    /// It can be leased again, or goes on being shared.
    Free(Freed),
    /// It is set aside for that reason.
    Quarantine(Pair, String),
}

/// A pair that is given back, and whose account others may use.
struct Freed {
    /// Who held it.
    holder: SubmissionId,
    pair: Pair,
    /// Whether its sequence was used.
    used: bool,
    /// The sequence that follows where nobody else uses the account.
    next: i64,
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

/// Frees the accounts that submissions lease, each with its next sequence. Pairs that came without a lease are of
/// accounts that several submissions share.
async fn set_free(tx: &DatabaseTransaction, freed: &[Freed]) -> Result<(), LedgerError> {
    use channel::Column as C;
    if freed.is_empty() {
        return Ok(());
    }
    let sequences = freed.iter().fold(CaseStatement::new(), |case, freed| {
        case.case(C::LeasedBy.eq(freed.holder.0), freed.next)
    });
    let mut update = given_back(tx, freed.iter().map(|freed| freed.holder));
    update
        .value(C::State, ChannelState::Free.as_str())
        .value(C::NextSequence, sequences)
        .returning(Query::returning().column(C::Account));
    let mut leased = HashSet::new();
    for row in step!("pair.free", tx.query_all(&update).await)? {
        leased.insert(row.try_get_by_index::<String>(0)?);
    }
    let shared = freed
        .iter()
        .filter(|freed| !leased.contains(&freed.pair.account.to_string()));
    for freed in shared {
        go_on(tx, freed).await?;
    }
    Ok(())
}

/// An account that several submissions share goes on after a sequence that was used. One that was not is free again:
/// while others hold later ones it is a gap, which the next claim takes.
async fn go_on(tx: &DatabaseTransaction, freed: &Freed) -> Result<(), LedgerError> {
    use channel::Column as C;
    // What lies between this sequence and the account's is for its own holders to settle.
    #[cfg(feature = "planted-bugs")]
    let skipped = super::planted::GAPS_ARE_SKIPPED.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(feature = "planted-bugs"))]
    let skipped = false;
    let next = if freed.used || skipped {
        freed.pair.sequence.saturating_add(1)
    } else {
        i64::MIN
    };
    let later = CaseStatement::new()
        .case(C::NextSequence.lt(next), next)
        .finally(Expr::col(C::NextSequence));
    let mut update = shared_account(freed.pair);
    update
        .value(C::NextSequence, later)
        .value(C::LastUsedAt, clock::now(tx));
    if tx.execute(&update).await?.rows_affected() == 1 {
        return Ok(());
    }
    Err(LedgerError::Corrupt(format!(
        "submission {} holds no channel account",
        freed.holder
    )))
}

/// Sets the account aside. Where others hold sequences of it too they are settled as they are; none is handed out.
async fn quarantine(
    tx: &DatabaseTransaction,
    row: &Submission,
    pair: Pair,
    reason: String,
) -> Result<(), LedgerError> {
    use channel::Column as C;
    let mut update = given_back(tx, [row.id]);
    update
        .value(C::State, ChannelState::Quarantined.as_str())
        .value(C::Reason, reason.as_str());
    if tx.execute(&update).await?.rows_affected() == 1 {
        return Ok(());
    }
    let mut update = shared_account(pair);
    update
        .value(C::State, ChannelState::Quarantined.as_str())
        .value(C::Reason, reason)
        .value(C::LastUsedAt, clock::now(tx));
    write_one(tx, row, &update).await
}

/// The pair's account, which nobody leases.
fn shared_account(pair: Pair) -> UpdateStatement {
    use channel::Column as C;
    channel::Entity::update_many()
        .filter(C::Account.eq(pair.account.to_string()))
        .filter(C::LeasedBy.is_null())
        .into_query()
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
