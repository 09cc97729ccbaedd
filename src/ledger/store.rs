//! The two databases, and how a piece of work becomes one durable transaction on each.

use std::time::Duration;

use futures::future::BoxFuture;
use sea_orm::{DatabaseConnection, DatabaseTransaction, TransactionTrait};
use tokio::time::timeout;

use super::reader::{Reader, on_a_live_connection};
use super::types::LedgerError;
use super::writer::{self, Jobs};

/// What is done within one transaction. An error undoes all of it.
pub(super) type Work<T> = Box<
    dyn for<'a> FnOnce(&'a DatabaseTransaction) -> BoxFuture<'a, Result<T, LedgerError>> + Send,
>;

/// Longest work on `PostgreSQL` up to its commit. The server's own limits are shorter; this one is for a server that
/// does not answer at all.
const WORK_LIMIT: Duration = Duration::from_secs(12);
/// Longest commit on `PostgreSQL`.
const COMMIT_LIMIT: Duration = Duration::from_secs(12);

/// Where the ledger is kept.
#[derive(Clone)]
pub(super) enum Store {
    /// Every write is a transaction of its own; the server groups commits.
    Postgres(Reader),
    /// Writes go through one writer.
    Sqlite { writer: Jobs, readers: Reader },
}

impl Store {
    /// For reading.
    pub(super) fn reader(&self) -> &Reader {
        match self {
            Self::Postgres(pool) => pool,
            Self::Sqlite { readers, .. } => readers,
        }
    }

    /// Does the work in one durable transaction.
    ///
    /// [`LedgerError::CommitUnknown`] is answered when and only when the commit itself was asked for and did not answer.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a DatabaseTransaction) -> BoxFuture<'a, Result<T, LedgerError>>
            + Send
            + 'static,
    {
        self.write_within(WORK_LIMIT, Box::new(work)).await
    }

    /// The same, for work that may take longer.
    pub(super) async fn write_within<T: Send + 'static>(
        &self,
        limit: Duration,
        work: Work<T>,
    ) -> Result<T, LedgerError> {
        match self {
            Self::Postgres(pool) => on_postgres(&pool.0, limit, work).await,
            Self::Sqlite { writer, .. } => writer::run(writer, work).await,
        }
    }
}

async fn on_postgres<T>(
    pool: &DatabaseConnection,
    limit: Duration,
    work: Work<T>,
) -> Result<T, LedgerError> {
    let silent = || LedgerError::Unavailable("the database does not answer".to_owned());
    let tx = step!(
        "store.begin",
        timeout(WORK_LIMIT, on_a_live_connection(|| pool.begin())).await
    )
    .map_err(|_| silent())??;
    match step!("store.work", timeout(limit, work(&tx)).await).unwrap_or_else(|_| Err(silent())) {
        Ok(value) => match step!("store.commit", timeout(COMMIT_LIMIT, tx.commit()).await) {
            Ok(Ok(())) => Ok(value),
            Ok(Err(error)) => Err(LedgerError::CommitUnknown(error.to_string())),
            Err(_) => Err(LedgerError::CommitUnknown(
                "the database does not answer".to_owned(),
            )),
        },
        Err(error) => {
            // Without an answer the transaction ends with its connection.
            let _ = step!("store.rollback", timeout(COMMIT_LIMIT, tx.rollback()).await);
            Err(error)
        }
    }
}
