//! Whether the ledger still remembers all that it ever knew. A database that was restored, or a replica that lagged,
//! does not: nothing is claimed, sent or decided by it before the chain has told what it has forgotten.
//!
//! Every transition passes [`admit`] within its own SQL transaction, and nothing else makes an [`Admitted`].

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, DbBackend, EntityTrait, FromQueryResult,
    QueryFilter, QuerySelect, QueryTrait, UpdateMany,
};

use super::entity::memory::{Column, Entity, Model};
use super::entity::{progress, recovered};
use super::types::{LedgerError, Millis, Rules};
use super::{Ledger, clock, row, witness};
use crate::domain::memory::{Mark, MemoryState};

/// The one row.
const ROW: i16 = 1;

/// What the ledger knows of its own memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Made with the tables, the same in every copy of the ledger.
    pub ledger_id: String,
    /// How far it reaches.
    pub mark: Mark,
    /// Whether it may decide.
    pub state: MemoryState,
    /// Why not.
    pub reason: Option<String>,
    /// Since when not.
    pub since: Option<Millis>,
    /// Close time, in unix seconds, that a ledger must pass before consumers are identified. Set once a stop.
    pub resume_after: Option<u64>,
    /// What it remembers ends at this ledger of the network, as far as is known.
    pub read_from: Option<u32>,
    /// What shows that it was set back and nobody has stopped yet.
    pub doubt: Option<String>,
}

impl Memory {
    /// Whether transitions are refused, and why.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        match self.state {
            MemoryState::Open => self.doubt.clone(),
            MemoryState::Lost | MemoryState::Held => self.reason.clone().or(self.doubt.clone()),
        }
    }
}

/// Who may change rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Everybody, while the memory is open.
    Open,
    /// The recovery of that epoch, while it is not.
    Recovery(i64),
}

/// The proof that a change was let through: within this SQL transaction the ledger remembers.
#[derive(Clone, Copy)]
pub(super) struct Admitted<'a> {
    pub(super) tx: &'a DatabaseTransaction,
    pub(super) rules: Rules,
    _through_the_gate: (),
}

/// The highest mark that this process has seen. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(Arc<Mutex<Mark>>);

impl Seen {
    fn highest(&self) -> Mark {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raise(&self, mark: Mark) {
        let mut highest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *highest = mark.max(*highest);
    }
}

impl Ledger {
    /// What the ledger knows of its own memory, held against what this process has seen of it before.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn memory(&self) -> Result<Memory, LedgerError> {
        // Before the ledger is read: what others write meanwhile must not make it seem to lag.
        let seen = self.seen.highest();
        let (memory, _) = read(self.store.reader(), seen).await?;
        if memory.doubt.is_none() {
            self.seen.raise(memory.mark);
        }
        Ok(memory)
    }

    /// Takes in how far somebody else has seen the ledger's memory reach.
    pub fn memory_reached(&self, mark: Mark) {
        self.seen.raise(mark);
    }

    /// Stops everything, whatever process it runs in: the ledger was set back. False if all of it stands already.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn stop(&self, reason: &str) -> Result<bool, LedgerError> {
        let (seen, reason) = (self.seen.highest(), reason.to_owned());
        self.store
            .write(move |tx| async move { stop(tx, seen, reason).await }.boxed())
            .await
    }

    /// Notes when consumers may be identified, unless that was noted, or the state moved on from that epoch.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn wait_until(&self, epoch: i64, resume_after: u64) -> Result<bool, LedgerError> {
        let at = i64::try_from(resume_after).unwrap_or(i64::MAX);
        self.store
            .write(move |tx| {
                async move {
                    let query = Entity::update_many()
                        .filter(Expr::cust("state = 'lost' AND resume_after IS NULL"))
                        .col_expr(Column::ResumeAfter, Expr::val(at));
                    move_from(tx, epoch, query).await
                }
                .boxed()
            })
            .await
    }

    /// The longest window is over, and some consumers are unknown: only a recovery goes on from here.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn hold(&self, epoch: i64, reason: &str) -> Result<bool, LedgerError> {
        let reason = reason.to_owned();
        self.store
            .write(move |tx| {
                async move {
                    let query = Entity::update_many()
                        .filter(Expr::cust("state = 'lost' AND resume_after IS NOT NULL"))
                        .col_expr(Column::State, Expr::val(MemoryState::Held.as_str()))
                        .col_expr(Column::Reason, Expr::val(reason))
                        .col_expr(Column::Epoch, Expr::val(epoch + 1));
                    move_from(tx, epoch, query).await
                }
                .boxed()
            })
            .await
    }

    /// Every consumer is known: the ledger decides again.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn reopen(&self, epoch: i64) -> Result<bool, LedgerError> {
        self.store
            .write(move |tx| {
                async move {
                    let query = Entity::update_many()
                        .filter(Expr::cust("state <> 'open' AND resume_after IS NOT NULL"))
                        .col_expr(Column::State, Expr::val(MemoryState::Open.as_str()))
                        .col_expr(Column::Reason, Expr::val(None::<String>))
                        .col_expr(Column::Since, Expr::val(None::<i64>))
                        .col_expr(Column::ResumeAfter, Expr::val(None::<i64>))
                        .col_expr(Column::ReadFrom, Expr::val(None::<i64>))
                        .col_expr(Column::Epoch, Expr::val(epoch + 1));
                    move_from(tx, epoch, query).await
                }
                .boxed()
            })
            .await
    }

    /// Does work that changes rows in one durable transaction, if the gate is open.
    pub(super) async fn admitted<T, F>(&self, gate: Gate, work: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(Admitted<'a>) -> BoxFuture<'a, Result<T, LedgerError>> + Send + 'static,
    {
        let (seen, rules) = (self.seen.clone(), self.rules);
        self.store
            .write(move |tx| {
                async move { work(admit(tx, &seen, rules, gate).await?).await }.boxed()
            })
            .await
    }
}

/// Lets a change through, or refuses it: asked of the database that the change would be written to.
async fn admit<'a>(
    tx: &'a DatabaseTransaction,
    seen: &Seen,
    rules: Rules,
    gate: Gate,
) -> Result<Admitted<'a>, LedgerError> {
    let (memory, witness) = read(tx, seen.highest()).await?;
    let refused = match gate {
        Gate::Open => memory.refusal(),
        Gate::Recovery(epoch) => {
            let recovers = memory.state != MemoryState::Open && memory.mark.epoch == epoch;
            memory.doubt.clone().or_else(|| {
                (!recovers).then(|| "the recovery was overtaken by another one".to_owned())
            })
        }
    };
    if let Some(reason) = refused {
        return Err(LedgerError::MemoryLost(reason));
    }
    if witness.new {
        adopt(tx, witness.live).await?;
    }
    // What others committed; SQLite shows what is written under the same commit too, and that may yet be undone.
    if tx.get_database_backend() == DbBackend::Postgres {
        seen.raise(memory.mark);
    }
    Ok(Admitted {
        tx,
        rules,
        _through_the_gate: (),
    })
}

/// Whether rows are handed out at all. A hint: whoever would change one is asked again.
pub(super) async fn is_open(tx: &DatabaseTransaction) -> Result<bool, LedgerError> {
    let row = Entity::find_by_id(ROW).one(tx).await?;
    Ok(row.is_some_and(|row| row.state == MemoryState::Open.as_str()))
}

/// Whether there is anything to tell of a loss: that of today, or what was recovered after an earlier one.
pub(super) async fn tells(tx: &DatabaseTransaction) -> Result<bool, LedgerError> {
    let recovered = recovered::Entity::find().limit(1).one(tx).await?;
    Ok(recovered.is_some() || !is_open(tx).await?)
}

/// Who the database says that it is.
struct Witnessed {
    /// Its witness now.
    live: String,
    /// Whether none was noted yet.
    new: bool,
}

async fn read(db: &impl ConnectionTrait, seen: Mark) -> Result<(Memory, Witnessed), LedgerError> {
    let query = Entity::find_by_id(ROW)
        .expr_as(witness::expression(db), "told")
        .expr_as(Expr::cust("(SELECT max(id) FROM submission_log)"), "line")
        .into_query();
    let row = db.query_one(&query).await?;
    let row = row.ok_or_else(|| LedgerError::Corrupt("ledger_memory has no row".to_owned()))?;
    let model = Model::from_query_result(&row, "")?;
    let live = witness::of(db, row.try_get("", "told")?)?;
    let line: Option<i64> = row.try_get("", "line")?;
    let mark = Mark {
        epoch: model.epoch,
        line: line.unwrap_or(0),
    };
    let moved = model.witness.as_ref().filter(|known| **known != live);
    let moved =
        moved.map(|known| format!("the database is another one: it was {known} and is {live} now"));
    let new = model.witness.is_none();
    let short = (mark < seen).then(|| {
        format!(
            "the transition log ends at line {} of epoch {}, but line {} of epoch {} was seen before",
            mark.line, mark.epoch, seen.line, seen.epoch
        )
    });
    let memory = memory(model, mark, moved.or(short))?;
    Ok((memory, Witnessed { live, new }))
}

fn memory(model: Model, mark: Mark, doubt: Option<String>) -> Result<Memory, LedgerError> {
    let corrupt = |_| LedgerError::Corrupt("ledger_memory: a number out of range".to_owned());
    Ok(Memory {
        state: row::memory_state(&model.state)?,
        resume_after: model
            .resume_after
            .map(u64::try_from)
            .transpose()
            .map_err(corrupt)?,
        read_from: model
            .read_from
            .map(u32::try_from)
            .transpose()
            .map_err(corrupt)?,
        ledger_id: model.ledger_id,
        mark,
        reason: model.reason,
        since: model.since,
        doubt,
    })
}

async fn adopt(tx: &DatabaseTransaction, witness: String) -> Result<(), LedgerError> {
    let adopt = Entity::update_many()
        .filter(Expr::cust("id = 1 AND witness IS NULL"))
        .col_expr(Column::Witness, Expr::val(witness));
    step!("memory.adopt", adopt.exec(tx).await)?;
    Ok(())
}

async fn stop(tx: &DatabaseTransaction, seen: Mark, reason: String) -> Result<bool, LedgerError> {
    // Of those who notice at the same time one stops.
    Entity::find_by_id(ROW).lock_exclusive().one(tx).await?;
    let (memory, witness) = read(tx, seen).await?;
    if memory.state != MemoryState::Open && memory.doubt.is_none() {
        return Ok(false);
    }
    let progress = progress::Entity::find_by_id(ROW).one(tx).await?;
    let passed = progress.map(|progress| progress.ledger);
    let read_from = match (memory.read_from.map(i64::from), passed) {
        (Some(before), Some(now)) => Some(before.min(now)),
        (before, now) => before.or(now),
    };
    let stop = Entity::update_many()
        .filter(Expr::cust("id = 1"))
        .col_expr(Column::State, Expr::val(MemoryState::Lost.as_str()))
        .col_expr(Column::Reason, Expr::val(reason))
        .col_expr(Column::Since, clock::now(tx))
        .col_expr(Column::ResumeAfter, Expr::val(None::<i64>))
        .col_expr(Column::ReadFrom, Expr::val(read_from))
        .col_expr(Column::Witness, Expr::val(witness.live))
        // Above all that was ever seen, so that the older memory raises no doubt twice.
        .col_expr(
            Column::Epoch,
            Expr::val(memory.mark.epoch.max(seen.epoch) + 1),
        );
    step!("memory.update", stop.exec(tx).await)?;
    Ok(true)
}

async fn move_from(
    tx: &DatabaseTransaction,
    epoch: i64,
    update: UpdateMany<Entity>,
) -> Result<bool, LedgerError> {
    let update = update.filter(Column::Epoch.eq(epoch));
    let done = step!("memory.move", update.exec(tx).await)?;
    Ok(done.rows_affected == 1)
}
