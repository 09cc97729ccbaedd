//! The feed's side: which due rows go to the queue, in order, a bounded window at a time.

use std::time::Duration;

use futures::FutureExt;
use sea_orm::sea_query::{Expr, ExprTrait, LockBehavior, LockType};
use sea_orm::{
    ColumnTrait, DatabaseTransaction, EntityTrait, Order, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, Select,
};

use super::claim::lock;
use super::entity::channel;
use super::entity::submission::{Column, Entity, Model};
use super::types::{Dispatch, LedgerError};
use super::{Ledger, clock, row};
use crate::domain::ids::SubmissionId;
use crate::domain::key::JobId;
use crate::domain::schedule::Priority;

/// Keys of the locks under which the lanes are fed, less the lane's rank.
const LANE_LOCK: i64 = 0x7465_6e64_0010;
/// Rows taken at once, whatever the window: one statement names them all.
const MOST: u64 = 5_000;

impl Ledger {
    /// Marks due rows of a lane as dispatched, so that at most `window` of them are dispatched and pending at once, in
    /// the order of their acceptance. Rows dispatched longer ago than `redispatch_after` are answered again with the
    /// job of the same round: the queue takes it only if it lost it.
    ///
    /// # Errors
    /// [`LedgerError`]. Rows that were marked although the answer was lost are answered again later.
    pub async fn take_due(
        &self,
        lane: Priority,
        window: u64,
        redispatch_after: Duration,
    ) -> Result<Vec<Dispatch>, LedgerError> {
        let window = Ord::min(window, MOST);
        self.store
            .write(move |tx| {
                async move { take_due(tx, lane, window, redispatch_after).await }.boxed()
            })
            .await
    }

    /// How many due rows could be claimed now: free channel accounts, and due rows that hold a pair already.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn capacity(&self) -> Result<u64, LedgerError> {
        let db = self.store.reader();
        let free = channel::Entity::find()
            .filter(Expr::cust("state = 'free'"))
            .count(db)
            .await?;
        let holders = Entity::find()
            .filter(Expr::cust("pair_held"))
            .filter(Expr::cust("status = 'pending'"))
            .filter(Expr::col(Column::NextAttemptAt).lte(clock::now(db)))
            .count(db)
            .await?;
        Ok(free + holders)
    }
}

async fn take_due(
    tx: &DatabaseTransaction,
    lane: Priority,
    window: u64,
    redispatch_after: Duration,
) -> Result<Vec<Dispatch>, LedgerError> {
    // Two feeds of one lane would overrun its window.
    lock(tx, LANE_LOCK + i64::from(lane.rank())).await?;
    let mut taken = overdue(tx, lane, window, redispatch_after).await?;
    let dispatched = pending(lane)
        .filter(Expr::cust("dispatched_at IS NOT NULL"))
        .count(tx)
        .await?;
    taken.extend(fresh(tx, lane, window.saturating_sub(dispatched)).await?);
    Ok(taken)
}

fn pending(lane: Priority) -> Select<Entity> {
    // Written out: an index with a condition is used only for a query that states it.
    Entity::find()
        .filter(Expr::cust("status = 'pending'"))
        .filter(Column::Priority.eq(lane.rank()))
}

/// The rows to take, locked. Rows that somebody is changing at this moment are left for the next round.
async fn select(
    tx: &DatabaseTransaction,
    query: Select<Entity>,
    limit: u64,
) -> Result<Vec<Model>, LedgerError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    Ok(query
        .filter(Expr::col(Column::NextAttemptAt).lte(clock::now(tx)))
        .order_by(Column::CreatedAt, Order::Asc)
        .order_by(Column::Id, Order::Asc)
        .limit(limit)
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
        .all(tx)
        .await?)
}

async fn overdue(
    tx: &DatabaseTransaction,
    lane: Priority,
    limit: u64,
    redispatch_after: Duration,
) -> Result<Vec<Dispatch>, LedgerError> {
    let since = clock::before(tx, redispatch_after);
    let query = pending(lane)
        .filter(Expr::cust("dispatched_at IS NOT NULL"))
        .filter(Expr::col(Column::DispatchedAt).lte(since));
    let rows = select(tx, query, limit).await?;
    mark(tx, &rows, 0).await?;
    rows.iter()
        .map(|row| dispatch(row, row.dispatch_round))
        .collect()
}

async fn fresh(
    tx: &DatabaseTransaction,
    lane: Priority,
    limit: u64,
) -> Result<Vec<Dispatch>, LedgerError> {
    let query = pending(lane).filter(Expr::cust("dispatched_at IS NULL"));
    let rows = select(tx, query, limit).await?;
    mark(tx, &rows, 1).await?;
    rows.iter()
        .map(|row| dispatch(row, row.dispatch_round + 1))
        .collect()
}

async fn mark(tx: &DatabaseTransaction, rows: &[Model], rounds: i64) -> Result<(), LedgerError> {
    if rows.is_empty() {
        return Ok(());
    }
    Entity::update_many()
        .filter(Column::Id.is_in(rows.iter().map(|row| row.id)))
        .col_expr(
            Column::DispatchRound,
            Expr::col(Column::DispatchRound).add(rounds),
        )
        .col_expr(Column::DispatchedAt, clock::now(tx))
        .exec(tx)
        .await?;
    Ok(())
}

fn dispatch(model: &Model, round: i64) -> Result<Dispatch, LedgerError> {
    let tenant = row::parsed("tenant", &model.tenant)?;
    let key = row::parsed("idempotency_key", &model.idempotency_key)?;
    Ok(Dispatch {
        id: SubmissionId(model.id),
        priority: row::priority(model.priority)?,
        job: JobId::of(&tenant, &key, round),
    })
}
