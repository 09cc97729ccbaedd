//! The one writer of a `SQLite` ledger. A durable commit costs milliseconds and only one can run at a time, so whatever
//! waits is written under one commit, each job within a savepoint of its own.

use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::{
    DatabaseConnection, DatabaseTransaction, DbErr, SqliteTransactionMode, TransactionOptions,
    TransactionTrait,
};
use tokio::sync::{mpsc, oneshot};

use super::store::Work;
use super::types::LedgerError;

/// Jobs under one commit.
const BATCH: usize = 256;
/// Jobs that may wait before their callers do.
const QUEUE: usize = 1024;

/// Where jobs are handed in.
pub(super) type Jobs = mpsc::Sender<Box<dyn Job>>;

/// Starts the writer. It ends with the last sender of jobs.
pub(super) fn start(db: DatabaseConnection) -> Jobs {
    let (jobs, mut waiting) = mpsc::channel::<Box<dyn Job>>(QUEUE);
    tokio::spawn(async move {
        let mut batch = Vec::new();
        while waiting.recv_many(&mut batch, BATCH).await > 0 {
            let ending = write(&db, &mut batch).await;
            for job in batch.drain(..) {
                job.finish(&ending);
            }
        }
    });
    jobs
}

/// Hands a job in and waits for its commit.
pub(super) async fn run<T: Send + 'static>(jobs: &Jobs, work: Work<T>) -> Result<T, LedgerError> {
    let (answer, answered) = oneshot::channel();
    let job = Waiting {
        work: Some(work),
        outcome: None,
        answer,
    };
    let gone = || LedgerError::Unavailable("the writer has ended".to_owned());
    jobs.send(Box::new(job)).await.map_err(|_| gone())?;
    answered.await.unwrap_or_else(|_| {
        Err(LedgerError::CommitUnknown(
            "the writer has ended".to_owned(),
        ))
    })
}

/// How a batch ended.
pub(super) enum Ending {
    Committed,
    RolledBack(String),
    Unknown(String),
}

/// A piece of work, and whoever waits for it.
pub(super) trait Job: Send {
    /// Does the work. False: what it wrote must be undone.
    fn run<'a>(&'a mut self, tx: &'a DatabaseTransaction) -> BoxFuture<'a, bool>;
    /// Answers, now that the batch has ended.
    fn finish(self: Box<Self>, ending: &Ending);
}

struct Waiting<T> {
    work: Option<Work<T>>,
    outcome: Option<Result<T, LedgerError>>,
    answer: oneshot::Sender<Result<T, LedgerError>>,
}

impl<T: Send> Job for Waiting<T> {
    fn run<'a>(&'a mut self, tx: &'a DatabaseTransaction) -> BoxFuture<'a, bool> {
        async move {
            let Some(work) = self.work.take() else {
                return false;
            };
            let outcome = work(tx).await;
            let done = outcome.is_ok();
            self.outcome = Some(outcome);
            done
        }
        .boxed()
    }

    fn finish(self: Box<Self>, ending: &Ending) {
        let answer = match (self.outcome, ending) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(value)), Ending::Committed) => Ok(value),
            (Some(Ok(_)), Ending::Unknown(why)) => Err(LedgerError::CommitUnknown(why.clone())),
            (Some(Ok(_)), Ending::RolledBack(why)) => Err(LedgerError::Unavailable(why.clone())),
            (None, Ending::RolledBack(why) | Ending::Unknown(why)) => {
                Err(LedgerError::Unavailable(why.clone()))
            }
            (None, Ending::Committed) => Err(LedgerError::Unavailable("not run".to_owned())),
        };
        // Nobody waits any more: the work was done all the same, as after any lost answer.
        let _ = self.answer.send(answer);
    }
}

async fn write(db: &DatabaseConnection, batch: &mut [Box<dyn Job>]) -> Ending {
    let options = TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    };
    let tx = match db.begin_with_options(options).await {
        Ok(tx) => tx,
        Err(error) => return Ending::RolledBack(error.to_string()),
    };
    for job in batch {
        // A savepoint that fails may mean that the whole transaction is gone: nothing more may be written then.
        if let Err(error) = within_savepoint(&tx, job.as_mut()).await {
            let _ = tx.rollback().await;
            return Ending::RolledBack(error.to_string());
        }
    }
    match tx.commit().await {
        Ok(()) => Ending::Committed,
        Err(error) => Ending::Unknown(error.to_string()),
    }
}

async fn within_savepoint(tx: &DatabaseTransaction, job: &mut dyn Job) -> Result<(), DbErr> {
    let savepoint = tx.begin().await?;
    if job.run(&savepoint).await {
        savepoint.commit().await
    } else {
        savepoint.rollback().await
    }
}
