//! Feed: pushes due rows to their lanes, a bounded window at a time. The queue holds hints only: whatever it loses is
//! pushed again from the ledger.

use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::ledger::{Ledger, LedgerError};
use crate::queue::{Job, Pushed, Queue, QueueError};

/// Moves due rows from the ledger to the queue.
pub struct Feed {
    ledger: Ledger,
    queue: Queue,
    settings: FeedSettings,
}

/// Bounds of the feed.
#[derive(Clone, Copy, Debug)]
pub struct FeedSettings {
    /// Jobs of one lane that may wait in the queue, those of rows that hold a pair aside: the pool bounds them.
    pub window: u64,
    /// A job not taken for so long is pushed again under the same id: the queue refuses it unless it was lost.
    pub redispatch_after: Duration,
    /// How often the feed looks without being nudged.
    pub period: Duration,
}

/// Why a round of the feed ended early. Nothing is lost: the next round goes on.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The queue.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

impl Feed {
    /// A feed from that ledger to that queue.
    #[must_use]
    pub fn new(ledger: Ledger, queue: Queue, settings: FeedSettings) -> Self {
        Self {
            ledger,
            queue,
            settings,
        }
    }

    /// One round: as many due rows as can run now. Returns how many jobs the queue took.
    ///
    /// # Errors
    /// The ledger or the queue did not answer.
    pub async fn run_once(&self) -> Result<usize, FeedError> {
        let due = self
            .ledger
            .take_due(self.settings.window, self.settings.redispatch_after)
            .await?;
        let jobs: Vec<_> = due
            .into_iter()
            .map(|dispatch| Job {
                id: dispatch.job,
                submission: dispatch.id,
                lane: dispatch.priority,
            })
            .collect();
        let pushed = self.queue.push(&jobs).await?;
        let taken = pushed.iter().filter(|pushed| **pushed == Pushed::New);
        Ok(taken.count())
    }

    /// Runs until cancelled: on every nudge, and on a period in case a nudge got lost.
    pub async fn run(&self, nudge: &Notify, shutdown: &CancellationToken) {
        loop {
            if let Err(error) = self.run_once().await {
                tracing::warn!(%error, "the feed will look again");
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = nudge.notified() => {}
                () = tokio::time::sleep(self.settings.period) => {}
            }
        }
    }
}
