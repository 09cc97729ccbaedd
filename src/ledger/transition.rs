//! The one way by which a row changes its state.
//!
//! Within one SQL transaction, of a ledger that has forgotten nothing: the row is read under its lock, its version compared, the domain asked, the row written
//! under the condition of that version, and with it the envelope, the pair and a line of the log. Nobody else writes a
//! status.

use std::collections::{HashMap, HashSet};

use futures::FutureExt;
use sea_orm::sea_query::{Expr, ExprTrait, UpdateStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, EntityTrait, FromQueryResult, Order,
    QueryFilter, QueryOrder, QuerySelect, QueryTrait,
};

use super::entity::submission::{Column, Entity, Model};
use super::memory::{Admitted, Gate};
use super::types::{Applied, Change, Envelope, LedgerError, Millis, Rules, SendPlan, Submission};
use super::{Ledger, clock, recording, release};
use crate::domain::ids::{Fence, Pair, SubmissionId};
use crate::domain::submission::{
    Category, Due, Event, IllegalEvent, Next, PairFate, Status, Verdict,
};
use crate::domain::transition::next;

/// What a transition brings along.
#[derive(Clone, Copy)]
pub(super) enum Brings<'a> {
    /// Nothing.
    Nothing,
    /// A pair for the claim, which the row may hold already, and the claim's token. It leases the pair's account unless
    /// others hold sequences of that account too.
    Claim {
        pair: Pair,
        fence: Fence,
        leases: bool,
    },
    /// An envelope. With a token it is recorded under that claim only.
    Envelope {
        envelope: &'a Envelope,
        sent_after_ledger: u32,
        fence: Option<Fence>,
    },
}

impl Ledger {
    /// Applies a transition to the row as it was read.
    ///
    /// Claims and envelopes have verbs of their own: reported here they are illegal.
    ///
    /// # Errors
    /// [`LedgerError`]. After [`LedgerError::CommitUnknown`] the row has moved or it has not; after any other error
    /// nothing was written.
    pub async fn apply(&self, change: Change) -> Result<Applied, LedgerError> {
        let applied = self.apply_all(vec![change]).await?;
        Ok(applied.into_iter().next().unwrap_or(Applied::NotFound))
    }

    /// Applies many transitions under one commit. One that is stale or illegal does not hinder the others.
    ///
    /// # Errors
    /// As [`Ledger::apply`], for all of them at once.
    pub async fn apply_all(&self, changes: Vec<Change>) -> Result<Vec<Applied>, LedgerError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let applied = self
            .admitted(Gate::Open, move |at| {
                async move { apply_each(at, &changes).await }.boxed()
            })
            .await?;
        self.tell(&applied);
        Ok(applied)
    }
}

/// Takes rows through transitions, each on its own account.
pub(super) async fn apply_each(
    at: Admitted<'_>,
    changes: &[Change],
) -> Result<Vec<Applied>, LedgerError> {
    let rows = all_locked(at.tx, changes).await?;
    let mut applied: Vec<_> = changes.iter().map(|_| Applied::NotFound).collect();
    let (mut moves, mut moved) = (Vec::new(), HashSet::new());
    for (index, change) in changes.iter().enumerate() {
        let Some(row) = rows.get(&change.id) else {
            continue;
        };
        if moved.contains(&change.id) {
            applied[index] = Applied::Stale;
        } else if matches!(change.event, Event::Claimed | Event::EnvelopeRecorded) {
            applied[index] = illegal(row, &change.event);
        } else {
            match move_row(at, row, change, Brings::Nothing).await? {
                Ok(done) => {
                    moved.insert(change.id);
                    moves.push((index, done));
                }
                Err(refused) => applied[index] = refused,
            }
        }
    }
    let (places, moves): (Vec<_>, Vec<_>) = moves.into_iter().unzip();
    conclude(at, &moves).await?;
    for (index, done) in places.into_iter().zip(moves) {
        applied[index] = Applied::Done(Box::new(done.after));
    }
    Ok(applied)
}

/// The rows of the changes under their locks, which everybody takes in the same order: two settling the same ledger
/// wait for each other instead of deadlocking.
async fn all_locked(
    tx: &DatabaseTransaction,
    changes: &[Change],
) -> Result<HashMap<SubmissionId, Submission>, LedgerError> {
    let rows = Entity::find()
        .filter(Column::Id.is_in(changes.iter().map(|change| change.id.0)))
        .order_by(Column::Id, Order::Asc)
        .lock_exclusive()
        .all(tx)
        .await?;
    rows.into_iter()
        .map(|row| Ok((SubmissionId(row.id), row.try_into()?)))
        .collect()
}

/// The answer to an event that cannot happen where the row stands.
pub(super) fn illegal(row: &Submission, event: &Event) -> Applied {
    Applied::Illegal(IllegalEvent {
        status: row.state.status,
        event: event.as_str(),
    })
}

/// The row under its lock, and the time.
pub(super) async fn locked(
    tx: &DatabaseTransaction,
    id: SubmissionId,
) -> Result<Option<(Submission, Millis)>, LedgerError> {
    let query = Entity::find_by_id(id.0)
        .expr_as(clock::now(tx), "db_now")
        .lock_exclusive()
        .into_query();
    let Some(row) = tx.query_one(&query).await? else {
        return Ok(None);
    };
    let now = row.try_get("", "db_now")?;
    let model = Model::from_query_result(&row, "")?;
    Ok(Some((model.try_into()?, now)))
}

/// A row that was written, and what has to be written beside it in the same SQL transaction.
pub(super) struct Move<'a> {
    /// The row as it was.
    pub(super) before: &'a Submission,
    /// The row as it is now.
    pub(super) after: Submission,
    /// Why.
    pub(super) change: &'a Change,
    /// What becomes of its pair.
    pub(super) fate: PairFate,
    /// Whether a pair that it takes comes with the account.
    pub(super) leases: bool,
}

/// Takes a locked row through a transition.
pub(super) async fn transit(
    at: Admitted<'_>,
    row: &Submission,
    change: &Change,
    brings: Brings<'_>,
) -> Result<Applied, LedgerError> {
    match move_row(at, row, change, brings).await? {
        Ok(done) => {
            conclude(at, std::slice::from_ref(&done)).await?;
            Ok(Applied::Done(Box::new(done.after)))
        }
        Err(refused) => Ok(refused),
    }
}

/// Writes the row, and its envelope if it brings one. Otherwise says why not.
async fn move_row<'a>(
    at: Admitted<'_>,
    row: &'a Submission,
    change: &'a Change,
    brings: Brings<'_>,
) -> Result<Result<Move<'a>, Applied>, LedgerError> {
    let (tx, rules) = (at.tx, &at.rules);
    if row.version != change.version {
        return Ok(Err(Applied::Stale));
    }
    let next = match next(&row.state, &change.event, rules.budget) {
        Ok(next) => next,
        Err(illegal) => return Ok(Err(Applied::Illegal(illegal))),
    };
    let update = update(tx, rules, row, &next, change, brings);
    let Some(written) = step!("transition.update", tx.query_one(&update).await)? else {
        return Ok(Err(Applied::Stale));
    };
    let after = Submission::try_from(Model::from_query_result(&written, "")?)?;
    if let Brings::Envelope {
        envelope,
        sent_after_ledger,
        ..
    } = brings
    {
        recording::insert(tx, &after, envelope, sent_after_ledger).await?;
    }
    Ok(Ok(Move {
        before: row,
        after,
        change,
        fate: next.pair,
        leases: matches!(brings, Brings::Claim { leases: true, .. }),
    }))
}

/// Pairs and log lines of rows that were written: a few statements, however many rows there are.
async fn conclude(at: Admitted<'_>, moves: &[Move<'_>]) -> Result<(), LedgerError> {
    if moves.is_empty() {
        return Ok(());
    }
    step!("transition.pairs", release::carry_out(at.tx, moves).await)?;
    recording::log(at.tx, moves).await
}

/// The statement that writes the row's next state if it still has the version, and the claim, that were read.
fn update(
    tx: &DatabaseTransaction,
    rules: &Rules,
    row: &Submission,
    next: &Next,
    change: &Change,
    brings: Brings<'_>,
) -> UpdateStatement {
    let state = &next.state;
    let mut update = Entity::update_many()
        .filter(Column::Id.eq(row.id.0))
        .filter(Column::Version.eq(row.version.0))
        .col_expr(Column::Version, Expr::val(row.version.0 + 1))
        .col_expr(Column::Status, Expr::val(state.status.as_str()))
        .col_expr(Column::Verdict, Expr::val(state.verdict.as_str()))
        .col_expr(
            Column::Category,
            Expr::val(state.category.map(Category::as_str)),
        )
        .col_expr(Column::PairHeld, Expr::val(state.holds_pair))
        .col_expr(
            Column::TransientFailures,
            Expr::val(count(state.transient_failures)),
        )
        .col_expr(Column::Claims, Expr::val(count(state.claims)))
        .col_expr(Column::Generation, Expr::val(count(state.generation)))
        .col_expr(Column::DispatchedAt, Expr::val(None::<i64>))
        .col_expr(Column::UpdatedAt, clock::now(tx))
        .into_query();
    bring(&mut update, tx, rules, brings);
    due(&mut update, tx, rules, next.due);
    if let Some(plan) = sending(rules, next, change, brings) {
        plan_sending(&mut update, tx, plan);
    }
    note(&mut update, next, change);
    update.returning_all();
    update
}

/// Counters stay far below the column's range: budgets bound them.
fn count(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn bring(
    update: &mut UpdateStatement,
    tx: &DatabaseTransaction,
    rules: &Rules,
    brings: Brings<'_>,
) {
    match brings {
        Brings::Nothing => {
            update.value(Column::ClaimUntil, None::<i64>);
        }
        Brings::Claim { pair, fence, .. } => {
            update
                .value(Column::SourceAccount, pair.account.to_string())
                .value(Column::Sequence, pair.sequence)
                .value(Column::Fence, fence.0)
                .value(Column::ClaimUntil, clock::after(tx, rules.claim_ttl));
        }
        Brings::Envelope {
            envelope, fence, ..
        } => {
            update
                .value(Column::ClaimUntil, None::<i64>)
                .value(Column::TxHash, envelope.hash.to_string())
                .value(Column::AttemptCount, Expr::col(Column::AttemptCount).add(1));
            if let Some(fence) = fence {
                update.and_where(Expr::col(Column::Fence).eq(fence.0));
            }
        }
    }
}

fn due(update: &mut UpdateStatement, tx: &DatabaseTransaction, rules: &Rules, due: Due) {
    match due {
        Due::Unchanged => {}
        Due::Now => {
            update.value(Column::NextAttemptAt, clock::now(tx));
        }
        Due::Backoff(failures) => {
            let delay = (rules.backoff)(failures, rules.backoff_base, rules.backoff_max);
            update.value(Column::NextAttemptAt, clock::after(tx, delay));
        }
    }
}

/// What the row asks for next, if that changes: only a row with an envelope out asks for anything.
fn sending(rules: &Rules, next: &Next, change: &Change, brings: Brings<'_>) -> Option<SendPlan> {
    let out = matches!(next.state.status, Status::Submitted | Status::Confirming)
        && next.state.verdict != Verdict::Indeterminate;
    if !out {
        return Some(SendPlan::Wait);
    }
    match brings {
        Brings::Envelope { .. } => Some(SendPlan::Resend(rules.resend_after)),
        Brings::Nothing | Brings::Claim { .. } => change.sending.clone(),
    }
}

fn plan_sending(update: &mut UpdateStatement, tx: &DatabaseTransaction, plan: SendPlan) {
    let (name, after, bid, stop) = match plan {
        SendPlan::Wait => ("waiting", None, None, None),
        SendPlan::Resend(after) => ("resend", Some(after), None, None),
        SendPlan::RaiseFee {
            required,
            operations,
            after,
        } => ("raise_fee", Some(after), Some((required, operations)), None),
        SendPlan::Stop(cause) => ("stopped", None, None, Some(cause)),
    };
    let at = after.map_or(Expr::val(None::<i64>), |after| clock::after(tx, after));
    let (class, code) = stop.map(|cause| (cause.class.as_str(), cause.code)).unzip();
    update
        .value(Column::SendState, name)
        .value(Column::SendAt, at)
        .value(Column::SendRequired, bid.map(|(required, _)| required))
        .value(
            Column::SendOperations,
            bid.map(|(_, operations)| operations),
        )
        .value(Column::StopClass, class)
        .value(Column::StopCode, code);
}

/// What staff and callers are shown. A requeued row starts with a clean slate; its hash stays.
fn note(update: &mut UpdateStatement, next: &Next, change: &Change) {
    if change.event == Event::Requeued {
        update
            .value(Column::LastError, None::<String>)
            .value(Column::Evidence, None::<String>);
        return;
    }
    if let Some(text) = change.last_error.as_ref().or(cause(&change.event)) {
        update.value(Column::LastError, text.as_str());
    }
    if let Some(hash) = change.tx_hash {
        update.value(Column::TxHash, hash.to_string());
    }
    let decided = next.state.status.is_terminal() || next.state.verdict == Verdict::Indeterminate;
    if let Some(evidence) = change.evidence.as_ref().filter(|_| decided) {
        update.value(Column::Evidence, evidence.to_string());
    }
}

/// The code of the failure that an event reports.
pub(super) fn cause(event: &Event) -> Option<&String> {
    if let Event::LedgerFailed(cause) | Event::ProvenDead(cause, _) = event {
        return Some(&cause.code);
    }
    None
}
