//! What a transition does to the pair: the channel account changes in the transaction that records why.

use sea_orm::sea_query::{Expr, UpdateStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, EntityTrait, QueryFilter, QueryTrait,
};

use super::clock;
use super::entity::{attempt, channel};
use super::types::{Change, ChannelState, LedgerError, Submission};
use crate::domain::ids::Pair;
use crate::domain::submission::{Event, PairFate};

/// Carries out what the domain decided about the row's pair.
pub(super) async fn carry_out(
    tx: &DatabaseTransaction,
    before: &Submission,
    after: &Submission,
    change: &Change,
    fate: PairFate,
) -> Result<(), LedgerError> {
    if fate == PairFate::Lease {
        return match after.pair {
            _ if before.state.holds_pair => Ok(()),
            Some(pair) => lease(tx, after, pair).await,
            None => Err(broken(after, "a claim without a pair")),
        };
    }
    let held = before.pair.filter(|_| before.state.holds_pair);
    let dead = matches!(change.event, Event::ProvenDead(..));
    if let Some(pair) = held.filter(|_| dead || !after.state.holds_pair) {
        settle(tx, before, pair).await?;
    }
    let change = match (fate, held) {
        (PairFate::Keep | PairFate::Lease, _) => return Ok(()),
        (_, None) => return Err(broken(before, "a pair is given back that is not held")),
        (PairFate::Spent, Some(pair)) => {
            let used = change
                .account_sequence
                .map_or(pair.sequence, |sequence| sequence.max(pair.sequence));
            Give::Free(following(before, used)?)
        }
        (PairFate::Unused, Some(pair)) => Give::Free(pair.sequence),
        (PairFate::Reseed, Some(_)) => match change.account_sequence {
            Some(sequence) => Give::Free(following(before, sequence)?),
            None => {
                Give::Quarantine("a gap below its pair, and its sequence was not told".to_owned())
            }
        },
        (PairFate::Quarantine, Some(pair)) => Give::Quarantine(format!(
            "{} at sequence {} of submission {}",
            change.event.as_str(),
            pair.sequence,
            before.id
        )),
    };
    give_back(tx, before, change).await
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

/// Marks the pair's envelopes as dead or consumed.
async fn settle(tx: &DatabaseTransaction, row: &Submission, pair: Pair) -> Result<(), LedgerError> {
    use attempt::Column as C;
    attempt::Entity::update_many()
        .filter(C::SubmissionId.eq(row.id.0))
        .filter(C::SourceAccount.eq(pair.account.to_string()))
        .filter(C::Sequence.eq(pair.sequence))
        .filter(C::Settled.eq(false))
        .col_expr(C::Settled, Expr::val(true))
        .exec(tx)
        .await?;
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

async fn give_back(
    tx: &DatabaseTransaction,
    row: &Submission,
    give: Give,
) -> Result<(), LedgerError> {
    use channel::Column as C;
    let mut update = channel::Entity::update_many()
        .filter(C::LeasedBy.eq(row.id.0))
        .filter(C::State.eq(ChannelState::Leased.as_str()))
        .into_query();
    update
        .value(C::LeasedBy, None::<sea_orm::prelude::Uuid>)
        .value(C::LastUsedAt, clock::now(tx));
    match give {
        Give::Free(sequence) => update
            .value(C::State, ChannelState::Free.as_str())
            .value(C::NextSequence, sequence),
        Give::Quarantine(reason) => update
            .value(C::State, ChannelState::Quarantined.as_str())
            .value(C::Reason, reason),
    };
    write_one(tx, row, &update).await
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
