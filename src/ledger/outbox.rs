//! The outbox: intents that callers write within transactions of their own. They are taken into the ledger, and told what
//! came of it, by one transaction.

use futures::FutureExt;
use sea_orm::sea_query::{CaseStatement, Expr, LockBehavior, LockType, Query, SelectStatement};
use sea_orm::sqlx::postgres::{PgListener, PgPoolOptions};
use sea_orm::{
    ColumnTrait, DatabaseTransaction, DbBackend, EntityTrait, Order, QueryFilter, QueryResult,
    TransactionTrait,
};
/// What callers with a connection of their own have it by.
pub use sea_orm::{ConnectionTrait, DbErr};

use super::accept::insert_all;
use super::connect::ACQUIRE_LIMIT;
use super::entity::outbox::{Column, Entity};
use super::store::Store;
use super::types::{Accepted, LedgerError, NewSubmission, Submission};
use super::{Ledger, clock};
use crate::domain::ids::SubmissionId;

/// Intents under one commit.
pub const BATCH: u64 = 256;
/// Where a transaction that wrote intents is announced. The schema says so too.
const CHANNEL: &str = "tender_outbox";

/// An intent as its caller wrote it. Nothing of it was checked, not even that it is text.
#[derive(Clone, Debug)]
pub struct Intent {
    /// Of its row.
    pub id: i64,
    /// Whose it is.
    pub tenant: Vec<u8>,
    /// Its key, if it was given one.
    pub key: Option<Vec<u8>>,
    /// The body of a request.
    pub payload: Vec<u8>,
}

/// Why an intent is not taken in, now or ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// For programs: the code of a problem.
    pub code: &'static str,
    /// For people; nothing that was stored by others. At most 4000 characters, none of them a control character.
    pub detail: String,
}

/// Who decides about intents. Both must be pure: they may be asked again.
#[derive(Clone, Copy)]
pub struct Judge {
    /// Whether it is a request.
    pub check: fn(&Intent) -> Result<NewSubmission, Refused>,
    /// Whether a row that has its key is of the same request.
    pub compare: fn(&Submission, &NewSubmission) -> Result<(), Refused>,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub struct Moved {
    /// Intents that are settled, with the submission of each or the reason why there is none.
    pub settled: Vec<(i64, Result<SubmissionId, Refused>)>,
    /// Intents that the database would not take in, as new as they were.
    pub left: Vec<(i64, LedgerError)>,
}

/// Rings when somebody committed intents. It may fail to, so nothing may depend on it.
pub struct Bell(PgListener);

impl Bell {
    /// Waits until it rings.
    ///
    /// # Errors
    /// The connection was lost: a new one is needed.
    pub async fn rung(&mut self) -> Result<(), LedgerError> {
        let lost = || LedgerError::Unavailable("the connection was lost".to_owned());
        let rung = self
            .0
            .try_recv()
            .await
            .map_err(|error| unavailable(&error))?;
        rung.map(drop).ok_or_else(lost)
    }
}

fn unavailable(error: &sea_orm::sqlx::Error) -> LedgerError {
    LedgerError::Unavailable(error.to_string())
}

impl Ledger {
    /// Takes in the oldest intents that nobody else is taking in, those of these ids aside. An empty answer: there are none.
    ///
    /// # Errors
    /// [`LedgerError`]. After [`LedgerError::CommitUnknown`] they may be settled; the same call again goes on.
    pub async fn take_intents(&self, aside: Vec<i64>, judge: Judge) -> Result<Moved, LedgerError> {
        // Looking costs no transaction, and on SQLite not the one writer.
        let look = oldest(&aside).limit(1).to_owned();
        if self.store.reader().query_one(&look).await?.is_none() {
            return Ok(Moved::default());
        }
        let others = aside.clone();
        let together = self
            .store
            .write(move |tx| async move { together(tx, &others, judge).await }.boxed())
            .await;
        match together {
            // One intent that the database refuses must not hurt the others.
            Err(LedgerError::Corrupt(_)) => {
                self.store
                    .write(move |tx| async move { one_by_one(tx, &aside, judge).await }.boxed())
                    .await
            }
            moved => moved,
        }
    }

    /// A bell of its own, on a connection of its own. `None` where the database has none.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn bell(&self) -> Result<Option<Bell>, LedgerError> {
        let Store::Postgres(pool) = &self.store else {
            return Ok(None);
        };
        let options = pool.0.get_postgres_connection_pool().connect_options();
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_LIMIT)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with((*options).clone());
        let mut listener = PgListener::connect_with(&pool)
            .await
            .map_err(|error| unavailable(&error))?;
        listener.eager_reconnect(false);
        listener
            .listen(CHANNEL)
            .await
            .map_err(|error| unavailable(&error))?;
        Ok(Some(Bell(listener)))
    }
}

fn oldest(aside: &[i64]) -> SelectStatement {
    let mut select = Query::select();
    select
        .from(Entity)
        .column(Column::Id)
        .and_where(Expr::cust("state = 'new'"))
        .order_by(Column::Id, Order::Asc);
    if !aside.is_empty() {
        select.and_where(Column::Id.is_not_in(aside.iter().copied()));
    }
    select
}

/// The next intents, which nobody else gets until the transaction ends.
async fn next(tx: &DatabaseTransaction, aside: &[i64]) -> Result<Vec<Intent>, LedgerError> {
    let sqlite = tx.get_database_backend() == DbBackend::Sqlite;
    // As bytes: SQLite takes anything for text, and what is none must not stand in the way of the others.
    let bytes = |column: &str| {
        Expr::cust(if sqlite {
            format!("CAST({column} AS BLOB)")
        } else {
            format!("convert_to({column}, 'UTF8')")
        })
    };
    let mut select = oldest(aside);
    select
        .expr_as(bytes("tenant"), "a")
        .expr_as(bytes("idempotency_key"), "b")
        .expr_as(bytes("payload"), "c")
        .limit(BATCH)
        // SQLite has one writer, and no such words.
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
    let rows = tx.query_all(&select).await?;
    let intents = rows.iter().map(intent).collect::<Result<_, DbErr>>();
    Ok(intents?)
}

fn intent(row: &QueryResult) -> Result<Intent, DbErr> {
    Ok(Intent {
        id: row.try_get("", "id")?,
        tenant: row.try_get("", "a")?,
        key: row.try_get("", "b")?,
        payload: row.try_get("", "c")?,
    })
}

async fn together(
    tx: &DatabaseTransaction,
    aside: &[i64],
    judge: Judge,
) -> Result<Moved, LedgerError> {
    let intents = next(tx, aside).await?;
    Ok(Moved {
        settled: settle(tx, &intents, judge).await?,
        left: Vec::new(),
    })
}

/// The same, with a savepoint for each: what the database refuses is left as it is.
async fn one_by_one(
    tx: &DatabaseTransaction,
    aside: &[i64],
    judge: Judge,
) -> Result<Moved, LedgerError> {
    let mut moved = Moved::default();
    for intent in next(tx, aside).await? {
        let savepoint = tx.begin().await?;
        match settle(&savepoint, std::slice::from_ref(&intent), judge).await {
            Ok(settled) => {
                savepoint.commit().await?;
                moved.settled.extend(settled);
            }
            Err(error @ LedgerError::Corrupt(_)) => {
                savepoint.rollback().await?;
                moved.left.push((intent.id, error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(moved)
}

/// Takes in what can be, and notes with each intent what came of it.
async fn settle(
    tx: &DatabaseTransaction,
    intents: &[Intent],
    judge: Judge,
) -> Result<Vec<(i64, Result<SubmissionId, Refused>)>, LedgerError> {
    let (mut ids, mut news, mut settled) = (Vec::new(), Vec::new(), Vec::new());
    for intent in intents {
        match (judge.check)(intent) {
            Ok(new) => {
                ids.push(intent.id);
                news.push(new);
            }
            Err(refused) => settled.push((intent.id, Err(refused))),
        }
    }
    if !news.is_empty() {
        let accepted = insert_all(tx, &news).await?;
        for ((id, new), accepted) in ids.into_iter().zip(&news).zip(accepted) {
            let outcome = match accepted {
                Accepted::New(row) => Ok(row.id),
                Accepted::Existing(row) => (judge.compare)(&row, new).map(|()| row.id),
            };
            settled.push((id, outcome));
        }
    }
    note(tx, &settled).await?;
    Ok(settled)
}

async fn note(
    tx: &DatabaseTransaction,
    settled: &[(i64, Result<SubmissionId, Refused>)],
) -> Result<(), LedgerError> {
    let (mut accepted, mut submissions) = (Vec::new(), CaseStatement::new());
    for (id, outcome) in settled {
        match outcome {
            Ok(submission) => {
                accepted.push(*id);
                submissions = submissions.case(Column::Id.eq(*id), submission.0);
            }
            Err(refused) => {
                let query = Entity::update_many()
                    .filter(Column::Id.eq(*id))
                    .col_expr(Column::State, Expr::val("refused"))
                    .col_expr(Column::RefusedCode, Expr::val(refused.code))
                    .col_expr(Column::RefusedDetail, Expr::val(refused.detail.as_str()))
                    .col_expr(Column::SettledAt, clock::now(tx));
                query.exec(tx).await?;
            }
        }
    }
    if accepted.is_empty() {
        return Ok(());
    }
    let query = Entity::update_many()
        .filter(Column::Id.is_in(accepted))
        .col_expr(Column::State, Expr::val("accepted"))
        .col_expr(Column::SubmissionId, submissions.into())
        .col_expr(Column::SettledAt, clock::now(tx));
    query.exec(tx).await?;
    Ok(())
}

/// Writes an intent through whatever connection or transaction that is, and returns the id of its row.
///
/// # Errors
/// The database's.
pub async fn insert_intent(
    db: &impl ConnectionTrait,
    tenant: &str,
    key: Option<&str>,
    payload: &str,
) -> Result<i64, DbErr> {
    let mut insert = Query::insert();
    insert
        .into_table(Entity)
        .columns([Column::Tenant, Column::IdempotencyKey, Column::Payload])
        .values_panic([tenant.into(), key.into(), payload.into()])
        .returning_col(Column::Id);
    let row = db.query_one(&insert).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotInserted)?;
    row.try_get("", "id")
}
