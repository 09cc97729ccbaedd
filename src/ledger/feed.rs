//! What the feed needs: due rows in order, a bounded window of them at a time.

use std::time::Duration;

use sea_orm::sea_query::{Expr, ExprTrait as _, LockBehavior, LockType};
use sea_orm::{
    ColumnTrait as _, Condition, ConnectionTrait as _, DatabaseTransaction, DbBackend, DbErr,
    EntityTrait as _, PaginatorTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};

use super::entity::{channel, submission};
use super::read::read;
use super::types::{ChannelState, Dispatch, LedgerError, Millis};
use super::{Ledger, convert, db};
use crate::domain::key::JobId;
use crate::domain::schedule::Priority;
use crate::domain::submission::Status;

impl Ledger {
    /// How many rows could run now: free channels, and pending rows that hold a pair and so need none.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn capacity(&self) -> Result<u64, LedgerError> {
        let free = channel::Entity::find()
            .filter(channel::Column::State.eq(ChannelState::Free.as_str()))
            .count(self.db.reader())
            .await;
        let holding = submission::Entity::find()
            .filter(submission::Column::PairHeld.eq(true))
            .filter(submission::Column::Status.eq(Status::Pending.as_str()))
            .count(self.db.reader())
            .await;
        Ok(read(free)? + read(holding)?)
    }

    /// Marks due rows of a lane as dispatched and returns them in order, so that at most `window` of them are dispatched
    /// and pending at once.
    ///
    /// A row dispatched longer than `redispatch_after` ago that nobody has claimed is returned again with the same job:
    /// a queue that still has the job refuses it, one that lost it takes it.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn take_due(
        &self,
        lane: Priority,
        window: u64,
        redispatch_after: Duration,
    ) -> Result<Vec<Dispatch>, LedgerError> {
        let lapse = Millis::try_from(redispatch_after.as_millis()).unwrap_or(Millis::MAX);
        self.db
            .write(move |tx| Box::pin(async move { take_due(tx, lane, window, lapse).await }))
            .await
    }
}

async fn take_due(
    tx: &DatabaseTransaction,
    lane: Priority,
    window: u64,
    lapse: Millis,
) -> Result<Vec<Dispatch>, DbErr> {
    use submission::Column as C;
    let now = db::now(tx).await?;
    let waiting = C::Status
        .eq(Status::Pending.as_str())
        .and(C::Priority.eq(lane.rank()));
    let fresh = C::DispatchedAt.gt(now.saturating_sub(lapse));
    let outstanding = submission::Entity::find()
        .filter(waiting.clone())
        .filter(fresh)
        .count(tx)
        .await?;
    let room = window.saturating_sub(outstanding);
    if room == 0 {
        return Ok(Vec::new());
    }
    let lost = Condition::any()
        .add(C::DispatchedAt.is_null())
        .add(C::DispatchedAt.lte(now.saturating_sub(lapse)));
    let mut due = submission::Entity::find()
        .select_only()
        .column(C::Id)
        .filter(waiting)
        .filter(C::NextAttemptAt.lte(now))
        .filter(lost)
        .order_by_asc(C::CreatedAt)
        .order_by_asc(C::Id)
        .limit(room);
    if tx.get_database_backend() == DbBackend::Postgres {
        due = due.lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
    }
    let ids: Vec<uuid::Uuid> = due.into_tuple().all(tx).await?;
    let round = Expr::case(C::DispatchedAt.is_null(), Expr::col(C::Round).add(1))
        .finally(Expr::col(C::Round));
    let mut rows = submission::Entity::update_many()
        .col_expr(C::Round, round.into())
        .col_expr(C::DispatchedAt, Expr::value(now))
        .filter(C::Id.is_in(ids))
        .exec_with_returning(tx)
        .await?;
    rows.sort_by_key(|row| (row.created_at, row.id));
    rows.into_iter().map(dispatch).collect()
}

fn dispatch(row: submission::Model) -> Result<Dispatch, DbErr> {
    let round = row.round;
    let submission = convert::submission(row)?;
    let job = JobId::of(&submission.tenant, &submission.key, round);
    Ok(Dispatch {
        id: submission.id,
        priority: submission.priority,
        job,
    })
}
