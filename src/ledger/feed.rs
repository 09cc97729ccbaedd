//! The feed's side: which due rows go to the queue, in order, a bounded window at a time.

use std::time::Duration;

use futures::FutureExt;
use sea_orm::sea_query::{Expr, ExprTrait, LockBehavior, LockType};
use sea_orm::{
    ColumnTrait, DatabaseTransaction, EntityTrait, FromQueryResult, Order, PaginatorTrait,
    QueryFilter, QueryOrder, QuerySelect, Select,
};

use super::claim::{in_flight, lock};
use super::entity::channel;
use super::entity::submission::{Column, Entity, Model};
use super::types::{Dispatch, LedgerError, Millis, Rules};
use super::{Ledger, clock, memory, row};
use crate::domain::ids::SubmissionId;
use crate::domain::key::JobId;
use crate::domain::schedule::Priority;
use crate::domain::sequence::DEPTH;

/// Key of the lock under which rows are dispatched.
const FEED_LOCK: i64 = 0x7465_6e64_0010;
/// Rows taken at once, whatever the window: one statement names them all.
const MOST: u64 = 5_000;

impl Ledger {
    /// Marks due rows as dispatched, as many as could be claimed now, and answers them in the order in which they are to
    /// be pushed.
    ///
    /// - Rows that hold a pair come first. They need no channel, and while they wait their channels serve nobody else.
    /// - Rows without a pair share the free channels, the most urgent lane first, and at most `window` of a lane are
    ///   dispatched and pending at once. What waits in a lane never keeps more urgent rows back.
    /// - Neither go beyond what the cap on submissions in flight leaves.
    /// - Rows dispatched longer ago than `redispatch_after` are answered again with the job of the same round: the queue
    ///   takes it only if it lost it.
    ///
    /// Within a lane the order is that of acceptance.
    ///
    /// # Errors
    /// [`LedgerError`]. Rows that were marked although the answer was lost are answered again later.
    pub async fn take_due(
        &self,
        window: u64,
        redispatch_after: Duration,
    ) -> Result<Vec<Dispatch>, LedgerError> {
        let rules = self.rules;
        let window = Ord::min(window, MOST);
        self.store
            .write(move |tx| {
                async move { take_due(tx, &rules, window, redispatch_after).await }.boxed()
            })
            .await
    }

    /// How long until the next of the rows that were put off is due, by the database's clock; `None` while no row waits
    /// for a later time. Rows that are due already do not count.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn next_due(&self) -> Result<Option<Duration>, LedgerError> {
        let db = self.store.reader();
        let next = Expr::col(Column::NextAttemptAt).min();
        let wait: Option<Option<Millis>> = pending()
            .filter(Expr::cust("dispatched_at IS NULL"))
            .filter(Expr::cust("next_attempt_at > created_at"))
            .filter(Expr::col(Column::NextAttemptAt).gt(clock::now(db)))
            .select_only()
            .column_as(next.sub(clock::now(db)), "wait")
            .into_tuple()
            .one(db)
            .await?;
        let wait = wait.flatten().and_then(|wait| u64::try_from(wait).ok());
        Ok(wait.map(Duration::from_millis))
    }
}

async fn take_due(
    tx: &DatabaseTransaction,
    rules: &Rules,
    window: u64,
    redispatch_after: Duration,
) -> Result<Vec<Dispatch>, LedgerError> {
    // Two feeds at once would overrun window and channels.
    lock(tx, FEED_LOCK).await?;
    if !memory::is_open(tx).await? {
        return Ok(Vec::new());
    }
    let dispatched = dispatched(tx).await?;
    let mut taken = Vec::new();
    if dispatched.any() {
        taken = overdue(tx, redispatch_after).await?;
    }
    taken.extend(fresh(tx, rules, window, &dispatched).await?);
    Ok(taken)
}

/// Rows that were not dispatched yet, as far as there is room to run them.
async fn fresh(
    tx: &DatabaseTransaction,
    rules: &Rules,
    window: u64,
    dispatched: &Dispatched,
) -> Result<Vec<Dispatch>, LedgerError> {
    let mut room = match rules.max_in_flight {
        Some(cap) => cap.saturating_sub(in_flight(tx).await?),
        None => u64::MAX,
    };
    room = room.saturating_sub(dispatched.holders);
    let mut rows = holders(tx, room).await?;
    let mut free = Ord::min(
        room.saturating_sub(rows.len() as u64),
        free_channels(tx).await?,
    );
    for lane in Priority::ALL {
        let before = dispatched.in_lane(lane);
        free = free.saturating_sub(before);
        let lane = waiting(tx)
            .filter(Column::Priority.eq(lane.rank()))
            .filter(Expr::cust("NOT pair_held"));
        let found = in_order(tx, lane, Ord::min(free, window.saturating_sub(before))).await?;
        free = free.saturating_sub(found.len() as u64);
        rows.extend(found);
    }
    step!("feed.mark_fresh", mark(tx, &rows, 1).await)?;
    rows.iter()
        .map(|row| dispatch(row, row.dispatch_round + 1))
        .collect()
}

/// Rows dispatched so long ago that the queue may have lost them.
async fn overdue(
    tx: &DatabaseTransaction,
    redispatch_after: Duration,
) -> Result<Vec<Dispatch>, LedgerError> {
    let since = clock::before(tx, redispatch_after);
    let query = due(tx)
        .filter(Expr::cust("dispatched_at IS NOT NULL"))
        .filter(Expr::col(Column::DispatchedAt).lte(since));
    let rows = in_order(tx, query, MOST).await?;
    step!("feed.mark_overdue", mark(tx, &rows, 0).await)?;
    rows.iter()
        .map(|row| dispatch(row, row.dispatch_round))
        .collect()
}

fn pending() -> Select<Entity> {
    // Written out: an index with a condition is used only for a query that states it.
    Entity::find().filter(Expr::cust("status = 'pending'"))
}

/// Rows that may be taken now. Those that somebody is changing at this moment are left for the next round.
fn due(tx: &DatabaseTransaction) -> Select<Entity> {
    pending()
        .filter(Expr::col(Column::NextAttemptAt).lte(clock::now(tx)))
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
}

/// Those of them that are not dispatched.
fn waiting(tx: &DatabaseTransaction) -> Select<Entity> {
    due(tx).filter(Expr::cust("dispatched_at IS NULL"))
}

/// Sequences of an account that submissions hold: none of a free one, unless they share it.
const HELD: &str = "(SELECT count(*) FROM submission_ledger \
     WHERE source_account = channel_accounts.account AND pair_held)";

async fn free_channels(tx: &DatabaseTransaction) -> Result<u64, LedgerError> {
    let free = channel::Entity::find()
        .filter(Expr::cust("state = 'free'"))
        .filter(Expr::cust(format!("{HELD} < {DEPTH}")));
    Ok(free.count(tx).await?)
}

/// Pending rows that are dispatched: their jobs wait, or have just been taken.
struct Dispatched {
    holders: u64,
    /// Without a pair, by lane.
    others: Vec<(Priority, u64)>,
}

impl Dispatched {
    fn any(&self) -> bool {
        self.holders > 0 || !self.others.is_empty()
    }

    /// Those without a pair.
    fn in_lane(&self, lane: Priority) -> u64 {
        let of_lane = self.others.iter().filter(|(other, _)| *other == lane);
        of_lane.map(|(_, number)| number).sum()
    }
}

async fn dispatched(tx: &DatabaseTransaction) -> Result<Dispatched, LedgerError> {
    #[derive(FromQueryResult)]
    struct Count {
        priority: i16,
        pair_held: bool,
        number: i64,
    }
    let counts = pending()
        .filter(Expr::cust("dispatched_at IS NOT NULL"))
        .select_only()
        .columns([Column::Priority, Column::PairHeld])
        .column_as(Expr::cust("count(*)"), "number")
        .group_by(Column::Priority)
        .group_by(Column::PairHeld)
        .into_model::<Count>()
        .all(tx)
        .await?;
    let mut dispatched = Dispatched {
        holders: 0,
        others: Vec::new(),
    };
    for count in counts {
        let number = count.number.cast_unsigned();
        if count.pair_held {
            dispatched.holders += number;
        } else {
            let lane = row::priority(count.priority)?;
            dispatched.others.push((lane, number));
        }
    }
    Ok(dispatched)
}

/// The first of the rows to take, locked.
async fn in_order(
    tx: &DatabaseTransaction,
    query: Select<Entity>,
    limit: u64,
) -> Result<Vec<Model>, LedgerError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    Ok(query
        .order_by(Column::Priority, Order::Asc)
        .order_by(Column::CreatedAt, Order::Asc)
        .order_by(Column::Id, Order::Asc)
        .limit(limit)
        .all(tx)
        .await?)
}

/// The first of the due rows that hold a pair, locked.
///
/// Put in order here: asked for their order, PostgreSQL may look for these few rows along the index of the many others.
async fn holders(tx: &DatabaseTransaction, limit: u64) -> Result<Vec<Model>, LedgerError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut rows = waiting(tx)
        .filter(Expr::cust("pair_held"))
        .limit(MOST)
        .all(tx)
        .await?;
    rows.sort_by_key(|row| (row.priority, row.created_at, row.id));
    rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(rows)
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
