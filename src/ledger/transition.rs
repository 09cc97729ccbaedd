//! The one way a row changes: read it, let the domain decide, compare and set, log, and move its channel account, all
//! in one SQL transaction.

use sea_orm::sea_query::LockType;
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, ConnectionTrait as _, DatabaseTransaction, DbBackend,
    DbErr, EntityTrait as _, IntoActiveModel as _, QueryFilter as _, QuerySelect as _, Set,
};

use super::entity::{attempt, channel, log, submission};
use super::types::{Applied, Change, ChannelState, LedgerError, Millis, Rules, SendPlan};
use super::{Ledger, convert, db};
use crate::domain::ids::Fence;
use crate::domain::submission::{Due, Event, Next, PairFate, Status, Verdict};
use crate::domain::transition::next as decide;

impl Ledger {
    /// Applies one transition.
    ///
    /// # Errors
    /// The database did not answer; see [`LedgerError`] for whether it may have been written.
    pub async fn apply(&self, change: Change) -> Result<Applied, LedgerError> {
        let rules = self.rules;
        self.db
            .write(move |tx| Box::pin(async move { transition(tx, &rules, &change, None).await }))
            .await
    }

    /// Applies several transitions with one commit. Each stands alone: one that is stale or illegal leaves the others be.
    ///
    /// # Errors
    /// The database did not answer; then all of them share the outcome.
    pub async fn apply_all(&self, changes: Vec<Change>) -> Result<Vec<Applied>, LedgerError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let rules = self.rules;
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let mut outcomes = Vec::with_capacity(changes.len());
                    for change in &changes {
                        outcomes.push(transition(tx, &rules, change, None).await?);
                    }
                    Ok(outcomes)
                })
            })
            .await
    }
}

/// The row under `id`, locked until the transaction ends.
pub(super) async fn locked(
    tx: &DatabaseTransaction,
    id: uuid::Uuid,
) -> Result<Option<submission::Model>, DbErr> {
    let query = submission::Entity::find_by_id(id);
    match tx.get_database_backend() {
        DbBackend::Postgres => query.lock(LockType::Update).one(tx).await,
        // SQLite's writer holds the whole file.
        _ => query.one(tx).await,
    }
}

/// Applies a transition within `tx`. With a fence, the row must still be claimed under it.
pub(super) async fn transition(
    tx: &DatabaseTransaction,
    rules: &Rules,
    change: &Change,
    fence: Option<Fence>,
) -> Result<Applied, DbErr> {
    let Some(row) = locked(tx, change.id.0).await? else {
        return Ok(Applied::NotFound);
    };
    let fenced_out = fence.is_some_and(|fence| row.fence != Some(fence.0));
    if row.version != change.version.0 || fenced_out {
        return Ok(Applied::Stale);
    }
    let next = match decide(&convert::state(&row)?, &change.event, rules.budget) {
        Ok(next) => next,
        Err(illegal) => return Ok(Applied::Illegal(illegal)),
    };
    let now = db::now(tx).await?;
    let written = write(tx, rules, &row, &next, change, now).await?;
    move_channel(tx, &row, next.pair, change, now).await?;
    append(tx, &row, &written, change, now).await?;
    Ok(Applied::Done(Box::new(convert::submission(written)?)))
}

/// Writes the row's next state where its version is still the one that was read.
async fn write(
    tx: &DatabaseTransaction,
    rules: &Rules,
    row: &submission::Model,
    next: &Next,
    change: &Change,
    now: Millis,
) -> Result<submission::Model, DbErr> {
    let mut values = row.clone().into_active_model();
    let state = &next.state;
    values.status = Set(state.status.as_str().to_owned());
    values.verdict = Set(state.verdict.as_str().to_owned());
    values.category = Set(state.category.map(|category| category.as_str().to_owned()));
    values.pair_held = Set(state.holds_pair);
    values.transient_failures = Set(convert::stored(state.transient_failures));
    values.claims = Set(convert::stored(state.claims));
    values.generation = Set(convert::stored(state.generation));
    values.version = Set(row.version + 1);
    values.updated_at = Set(now);
    match next.due {
        Due::Unchanged => {}
        Due::Now => values.next_attempt_at = Set(now),
        Due::Backoff(failures) => {
            let delay = (rules.backoff)(failures, rules.backoff_base, rules.backoff_max);
            values.next_attempt_at = Set(after(now, delay));
        }
    }
    if state.status == Status::Pending {
        values.dispatched_at = Set(None);
        set_plan(&mut values, &SendPlan::Wait, now);
    }
    if let Some(plan) = &change.sending {
        set_plan(&mut values, plan, now);
    }
    if let Some(error) = &change.last_error {
        values.last_error = Set(Some(error.clone()));
    }
    if let Some(hash) = change.tx_hash {
        values.tx_hash = Set(Some(hash.to_string()));
    }
    if state.status.is_terminal() || state.verdict == Verdict::Indeterminate {
        values.evidence = Set(change.evidence.clone());
    }
    compare_and_set(tx, row, values).await
}

/// Updates the row if nobody has moved it. The row is locked where the database can; the count is checked all the same.
pub(super) async fn compare_and_set(
    tx: &DatabaseTransaction,
    row: &submission::Model,
    values: submission::ActiveModel,
) -> Result<submission::Model, DbErr> {
    let written = submission::Entity::update_many()
        .set(values)
        .filter(submission::Column::Id.eq(row.id))
        .filter(submission::Column::Version.eq(row.version))
        .exec_with_returning(tx)
        .await?;
    match <[_; 1]>::try_from(written) {
        Ok([written]) => Ok(written),
        Err(_) => Err(DbErr::RecordNotUpdated),
    }
}

fn after(now: Millis, delay: std::time::Duration) -> Millis {
    now.saturating_add(Millis::try_from(delay.as_millis()).unwrap_or(Millis::MAX))
}

/// Turns a plan into the row's columns; delays count from now.
pub(super) fn set_plan(values: &mut submission::ActiveModel, plan: &SendPlan, now: Millis) {
    let (name, at, bid, class) = match plan {
        SendPlan::Wait => ("waiting", None, None, None),
        SendPlan::Resend(delay) => ("resend", Some(after(now, *delay)), None, None),
        SendPlan::RaiseFee {
            required,
            operations,
            after: delay,
        } => (
            "raise_fee",
            Some(after(now, *delay)),
            Some((*required, *operations)),
            None,
        ),
        SendPlan::Stop(cause) => {
            values.last_error = Set(Some(cause.code.clone()));
            ("stopped", None, None, Some(cause.class.as_str().to_owned()))
        }
    };
    values.send_state = Set(name.to_owned());
    values.send_at = Set(at);
    values.send_required = Set(bid.map(|(required, _)| required));
    values.send_operations = Set(bid.map(|(_, operations)| operations));
    values.stop_class = Set(class);
}

/// Gives the row's channel account back as the pair's fate says. Its envelopes are settled with it.
async fn move_channel(
    tx: &DatabaseTransaction,
    row: &submission::Model,
    fate: PairFate,
    change: &Change,
    now: Millis,
) -> Result<(), DbErr> {
    let dead = matches!(change.event, Event::ProvenDead(..));
    let (Some(account), Some(sequence), true) = (&row.source_account, row.sequence, row.pair_held)
    else {
        return Ok(());
    };
    let on_chain = change.account_sequence;
    let next_sequence = match fate {
        PairFate::Keep | PairFate::Lease if dead => return settle(tx, row).await,
        PairFate::Keep | PairFate::Lease => return Ok(()),
        PairFate::Spent => on_chain.map_or(sequence, |on_chain| on_chain.max(sequence)) + 1,
        PairFate::Unused | PairFate::Quarantine => sequence,
        PairFate::Reseed => on_chain.map_or(sequence, |on_chain| on_chain + 1),
    };
    let state = if fate == PairFate::Quarantine {
        ChannelState::Quarantined
    } else {
        ChannelState::Free
    };
    let values = channel::ActiveModel {
        state: Set(state.as_str().to_owned()),
        next_sequence: Set(next_sequence),
        leased_by: Set(None),
        reason: Set((state == ChannelState::Quarantined).then(|| change.event.as_str().to_owned())),
        last_used_at: Set(now),
        ..Default::default()
    };
    let moved = channel::Entity::update_many()
        .set(values)
        .filter(channel::Column::Account.eq(account))
        .filter(channel::Column::LeasedBy.eq(row.id))
        .exec(tx)
        .await?;
    if moved.rows_affected != 1 {
        return Err(convert::corrupt(format!("lease of {account}")));
    }
    settle(tx, row).await
}

/// Marks the envelopes of the row as settled: they are dead, or their pair is used.
async fn settle(tx: &DatabaseTransaction, row: &submission::Model) -> Result<(), DbErr> {
    attempt::Entity::update_many()
        .set(attempt::ActiveModel {
            settled: Set(true),
            ..Default::default()
        })
        .filter(attempt::Column::SubmissionId.eq(row.id))
        .filter(attempt::Column::Settled.eq(false))
        .exec(tx)
        .await
        .map(drop)
}

pub(super) async fn append(
    tx: &DatabaseTransaction,
    before: &submission::Model,
    written: &submission::Model,
    change: &Change,
    now: Millis,
) -> Result<(), DbErr> {
    let entry = log::ActiveModel {
        submission_id: Set(before.id),
        version: Set(written.version),
        event: Set(change.event.as_str().to_owned()),
        from_status: Set(before.status.clone()),
        to_status: Set(written.status.clone()),
        verdict: Set(written.verdict.clone()),
        actor: Set(change.actor.clone()),
        detail: Set(change.evidence.clone()),
        at: Set(now),
        ..Default::default()
    };
    entry.insert(tx).await.map(drop)
}
