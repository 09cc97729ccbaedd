//! Sends that are waited for aside: a node that keeps an answer back must not keep other rows from being settled.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::task::TaskTracker;

use crate::domain::ids::SubmissionId;
use crate::flow::send::SendError;

/// Sends under way at once. A row that finds no place stays due for the next pass.
const MOST: usize = 64;

/// The sends of one reconciler that are under way.
#[derive(Debug, Default)]
pub(super) struct Aside {
    rows: Arc<Mutex<HashSet<SubmissionId>>>,
    tasks: TaskTracker,
}

/// A row's place among the sends under way; given up when dropped.
#[derive(Debug)]
pub(super) struct Place {
    id: SubmissionId,
    rows: Arc<Mutex<HashSet<SubmissionId>>>,
}

impl Aside {
    /// A place for the row, unless a send of it is under way or all places are taken.
    pub(super) fn place(&self, id: SubmissionId) -> Option<Place> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        (rows.len() < MOST && rows.insert(id)).then(|| Place {
            id,
            rows: Arc::clone(&self.rows),
        })
    }

    /// Sends in a task of its own.
    pub(super) fn run<F>(&self, place: Place, send: F)
    where
        F: Future<Output = Result<(), SendError>> + Send + 'static,
    {
        self.tasks.spawn(async move {
            if let Err(error) = send.await {
                tracing::warn!(submission = %place.id, %error, "the answer to a send was not noted");
            }
            drop(place);
        });
    }

    /// Waits until no send is under way.
    pub(super) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: usize) -> SubmissionId {
        SubmissionId(uuid::Uuid::from_u128(number as u128))
    }

    #[tokio::test]
    async fn a_row_has_one_send_under_way_and_all_rows_a_bounded_number() {
        let aside = Aside::default();
        let mut places: Vec<_> = (0..MOST)
            .map(|n| aside.place(row(n)).expect("a place"))
            .collect();
        assert!(aside.place(row(MOST)).is_none(), "all places are taken");
        let first = places.swap_remove(0);
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        aside.run(first, async move {
            let _ = ended.await;
            Ok(())
        });
        places.clear();
        assert!(aside.place(row(0)).is_none(), "its send is under way");
        drop(end);
        aside.finish().await;
        assert!(aside.place(row(0)).is_some());
    }
}
