//! Connections, and the one way to write.
//!
//! A durable commit costs milliseconds. PostgreSQL shares them among connections by itself; SQLite has one writer, so
//! here one task runs whatever waits in one transaction, each job in a savepoint of its own, and commits once.

use std::time::Duration;

use futures::future::BoxFuture;
use sea_orm::{
    ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DatabaseTransaction,
    DbBackend, DbErr, SqliteTransactionMode, Statement, TransactionOptions, TransactionTrait as _,
};
use tokio::sync::{mpsc, oneshot};

use super::types::{LedgerError, Millis};

/// Jobs that share a commit at most.
const BATCH: usize = 256;
/// Jobs that may wait for the writer; more callers wait in line.
const WAITING: usize = 4096;
/// Longest a statement may run.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest a connection is waited for.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// Readers of a SQLite file.
const SQLITE_READERS: u32 = 4;

/// A database and how to write to it.
#[derive(Clone)]
pub(super) struct Db {
    readers: DatabaseConnection,
    writer: Writer,
}

#[derive(Clone)]
enum Writer {
    /// Each job has a transaction of its own on the pool.
    Pool,
    /// Jobs go to the one task that writes.
    Task(mpsc::Sender<Job>),
}

type Reply = Box<dyn FnOnce(Result<(), LedgerError>) + Send>;
type Job = Box<dyn for<'c> FnOnce(&'c DatabaseTransaction) -> BoxFuture<'c, Option<Reply>> + Send>;

/// An error of the database before a commit: nothing was written.
pub(super) fn unwritten(error: &DbErr) -> LedgerError {
    match error {
        DbErr::Type(what) => LedgerError::Corrupt(what.clone()),
        other => LedgerError::Unavailable(other.to_string()),
    }
}

impl Db {
    /// Connects and refuses settings that would lose a commit.
    pub(super) async fn connect(url: &str, max_connections: u32) -> Result<Self, LedgerError> {
        let db = if url.starts_with("sqlite:") {
            Self::sqlite(url).await?
        } else {
            Self::postgres(url, max_connections).await?
        };
        db.check_durability().await?;
        Ok(db)
    }

    async fn postgres(url: &str, max_connections: u32) -> Result<Self, LedgerError> {
        let mut options = ConnectOptions::new(url);
        options
            .max_connections(max_connections)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_timeout(ACQUIRE_TIMEOUT)
            .statement_timeout(STATEMENT_TIMEOUT)
            .set_application_name("tender")
            .sqlx_logging(false);
        let pool = Database::connect(options)
            .await
            .map_err(|error| unwritten(&error))?;
        Ok(Self {
            readers: pool,
            writer: Writer::Pool,
        })
    }

    async fn sqlite(url: &str) -> Result<Self, LedgerError> {
        let connect = async |connections| {
            let mut options = ConnectOptions::new(url);
            options
                .max_connections(connections)
                .acquire_timeout(STATEMENT_TIMEOUT)
                .sqlx_logging(false);
            options.map_sqlx_sqlite_opts(|sqlite| {
                sqlite
                    .create_if_missing(true)
                    .foreign_keys(true)
                    .busy_timeout(STATEMENT_TIMEOUT)
                    .pragma("journal_mode", "WAL")
                    .pragma("synchronous", "FULL")
            });
            Database::connect(options)
                .await
                .map_err(|error| unwritten(&error))
        };
        let writer = connect(1).await?;
        let readers = connect(SQLITE_READERS).await?;
        let (sender, jobs) = mpsc::channel(WAITING);
        tokio::spawn(write_batches(writer, jobs));
        Ok(Self {
            readers,
            writer: Writer::Task(sender),
        })
    }

    /// The connections to read with.
    pub(super) fn reader(&self) -> &DatabaseConnection {
        &self.readers
    }

    /// Which database it is.
    pub(super) fn backend(&self) -> DbBackend {
        self.readers.get_database_backend()
    }

    /// Runs `job` in a transaction and commits it durably.
    ///
    /// An error of the job means that nothing was written. An error of the commit itself is
    /// [`LedgerError::CommitUnknown`].
    pub(super) async fn write<T, F>(&self, job: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c DatabaseTransaction) -> BoxFuture<'c, Result<T, DbErr>>
            + Send
            + 'static,
    {
        match &self.writer {
            Writer::Pool => {
                let tx = self
                    .readers
                    .begin()
                    .await
                    .map_err(|error| unwritten(&error))?;
                match job(&tx).await {
                    Ok(value) => tx
                        .commit()
                        .await
                        .map(|()| value)
                        .map_err(|error| commit_unknown(&error)),
                    Err(error) => {
                        // Dropping the transaction rolls it back as well; the job's own error is the one that counts.
                        let _ = tx.rollback().await;
                        Err(unwritten(&error))
                    }
                }
            }
            Writer::Task(jobs) => {
                let (answer, answered) = oneshot::channel();
                jobs.send(enqueue(job, answer))
                    .await
                    .map_err(|_| writer_gone())?;
                answered.await.unwrap_or_else(|_| Err(writer_gone()))
            }
        }
    }

    async fn check_durability(&self) -> Result<(), LedgerError> {
        let (question, unsafe_values, column): (_, &[&str], _) = match self.backend() {
            DbBackend::Postgres => ("SHOW synchronous_commit", &["off"], "synchronous_commit"),
            _ => (
                "SELECT CAST(synchronous AS TEXT) AS synchronous FROM pragma_synchronous",
                &["0", "1"],
                "synchronous",
            ),
        };
        let value = self
            .ask(question)
            .await?
            .try_get::<String>("", column)
            .map_err(|error| unwritten(&error))?;
        if unsafe_values.contains(&value.as_str()) {
            return Err(LedgerError::Unfit(format!(
                "{column} is {value}: a recorded envelope could be forgotten after it was sent"
            )));
        }
        Ok(())
    }

    /// Asks for one row.
    pub(super) async fn ask(&self, question: &str) -> Result<sea_orm::QueryResult, LedgerError> {
        let statement = Statement::from_string(self.backend(), question);
        let row = self
            .readers
            .query_one_raw(statement)
            .await
            .map_err(|error| unwritten(&error))?;
        row.ok_or_else(|| LedgerError::Unavailable("no answer".to_owned()))
    }
}

fn commit_unknown(error: &DbErr) -> LedgerError {
    LedgerError::CommitUnknown(error.to_string())
}

fn writer_gone() -> LedgerError {
    LedgerError::Unavailable("the writer has stopped".to_owned())
}

/// A job that answers its caller once its commit is decided.
fn enqueue<T, F>(job: F, answer: oneshot::Sender<Result<T, LedgerError>>) -> Job
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c DatabaseTransaction) -> BoxFuture<'c, Result<T, DbErr>> + Send + 'static,
{
    Box::new(move |tx| {
        Box::pin(async move {
            // A caller that went away does not need its answer; what was written stays written.
            match job(tx).await {
                Ok(value) => Some(Box::new(move |committed: Result<(), LedgerError>| {
                    let _ = answer.send(committed.map(|()| value));
                }) as Reply),
                Err(error) => {
                    let _ = answer.send(Err(unwritten(&error)));
                    None
                }
            }
        })
    })
}

/// The writer of a SQLite file. Ends when nobody can send jobs any more.
async fn write_batches(db: DatabaseConnection, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(BATCH);
    while jobs.recv_many(&mut batch, BATCH).await > 0 {
        write_batch(&db, std::mem::take(&mut batch)).await;
    }
}

async fn write_batch(db: &DatabaseConnection, batch: Vec<Job>) {
    let immediate = TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    };
    // On an error the jobs are dropped, which tells their callers that nothing was written.
    let Ok(tx) = db.begin_with_options(immediate).await else {
        return;
    };
    let mut replies = Vec::with_capacity(batch.len());
    for job in batch {
        match run_job(&tx, job).await {
            Ok(reply) => replies.extend(reply),
            Err(error) => {
                return replies
                    .into_iter()
                    .for_each(|reply| reply(Err(unwritten(&error))));
            }
        }
    }
    let committed = tx.commit().await.map_err(|error| commit_unknown(&error));
    for reply in replies {
        reply(committed.clone());
    }
}

/// Runs one job in a savepoint, so that its failure is its own.
async fn run_job(tx: &DatabaseTransaction, job: Job) -> Result<Option<Reply>, DbErr> {
    let savepoint = tx.begin().await?;
    let reply = job(&savepoint).await;
    if reply.is_some() {
        savepoint.commit().await?
    } else {
        savepoint.rollback().await?
    }
    Ok(reply)
}

/// The database's clock, within a transaction.
pub(super) async fn now(tx: &DatabaseTransaction) -> Result<Millis, DbErr> {
    let backend = tx.get_database_backend();
    let row = tx
        .query_one_raw(Statement::from_string(
            backend,
            format!("SELECT {} AS now", now_sql(backend)),
        ))
        .await?;
    row.ok_or_else(|| DbErr::RecordNotFound("the database's clock".to_owned()))?
        .try_get("", "now")
}

/// The database's clock in unix milliseconds, as SQL.
pub(super) fn now_sql(backend: DbBackend) -> &'static str {
    match backend {
        DbBackend::Postgres => "(extract(epoch from clock_timestamp()) * 1000)::bigint",
        _ => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    }
}
