//! Looking rows up by identity. Pollers come in crowds: whoever asks while others are being answered shares the next
//! query. Nobody waits for company, and an answer is never older than its question.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use super::Ledger;
use super::entity::submission::{Column, Entity};
use super::store::Store;
use super::types::{LedgerError, Submission};
use crate::domain::ids::SubmissionId;

/// Rows looked up by one query.
const BATCH: usize = 128;
/// Askers that may wait before more of them do.
const QUEUE: usize = 4096;
/// Queries on their way at once.
const IN_FLIGHT: usize = 2;
/// Longest query: as long as the server itself lets one run.
const LIMIT: Duration = Duration::from_secs(15);

type Answer = Result<Option<Submission>, LedgerError>;

/// Where askers come.
pub(super) type Counter = mpsc::Sender<Asker>;

/// Somebody who wants to know of a row.
pub(super) struct Asker {
    id: SubmissionId,
    answer: oneshot::Sender<Answer>,
}

impl Ledger {
    /// A submission by identity.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn submission(&self, id: SubmissionId) -> Answer {
        let ended = || LedgerError::Unavailable("the ledger is shutting down".to_owned());
        let (answer, answered) = oneshot::channel();
        let asker = Asker { id, answer };
        self.counter.send(asker).await.map_err(|_| ended())?;
        answered.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// Opens the counter. It closes with the last sender.
pub(super) fn open(store: Store) -> Counter {
    let (counter, mut askers) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let gate = Arc::new(Semaphore::new(IN_FLIGHT));
        while let Ok(passage) = Arc::clone(&gate).acquire_owned().await {
            let mut batch = Vec::new();
            if askers.recv_many(&mut batch, BATCH).await == 0 {
                return;
            }
            let store = store.clone();
            tokio::spawn(async move {
                serve(&store, batch).await;
                drop(passage);
            });
        }
    });
    counter
}

async fn serve(store: &Store, mut batch: Vec<Asker>) {
    // Whoever left in the meantime, perhaps because the database is slow, costs nothing more.
    batch.retain(|asker| !asker.answer.is_closed());
    let Some(last) = batch.last().map(|asker| asker.id) else {
        return;
    };
    // Few different lengths, so that each connection prepares few statements.
    let padding = batch.len().next_power_of_two() - batch.len();
    let ids = batch.iter().map(|asker| asker.id.0);
    let ids = ids.chain(std::iter::repeat_n(last.0, padding));
    let query = Entity::find()
        .filter(Column::Id.is_in(ids))
        .all(store.reader());
    // A server that does not answer at all must not hold the counter for ever.
    let silent = || LedgerError::Unavailable("the database does not answer".to_owned());
    let found = timeout(LIMIT, query)
        .await
        .map_or_else(|_| Err(silent()), |found| found.map_err(LedgerError::from));
    match found {
        Ok(rows) => {
            let rows: HashMap<_, _> = rows.into_iter().map(|row| (row.id, row)).collect();
            for asker in batch {
                // A row that does not read as what was written hurts nobody but who asked for it.
                let row = rows.get(&asker.id.0).cloned();
                let _ = asker.answer.send(row.map(Submission::try_from).transpose());
            }
        }
        Err(error) => {
            for asker in batch {
                let _ = asker.answer.send(Err(error.clone()));
            }
        }
    }
}
