//! Feed: pushes due rows to their lanes, a bounded window at a time. The queue holds hints only: whatever it loses is
//! pushed again from the ledger.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::memory::{self, NoticeError, Told};
use crate::ledger::{Ledger, LedgerError};
use crate::queue::{Job, Pushed, Queue, QueueError};

/// Shortest pause until a row is due. Those that follow each other more closely go together.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// Moves due rows from the ledger to the queue.
pub struct Feed {
    ledger: Ledger,
    queue: Queue,
    settings: FeedSettings,
    /// Whether jobs of rows that are marked as dispatched may be missing in the queue.
    doubt: AtomicBool,
    /// Of a ledger that was set back.
    told: Told,
}

/// Bounds of the feed.
#[derive(Clone, Copy, Debug)]
pub struct FeedSettings {
    /// Jobs of one lane that may wait in the queue, those of rows that hold a pair aside: the pool bounds them.
    pub window: u64,
    /// A job not taken for so long is pushed again under the same id: the queue refuses it unless it was lost.
    pub redispatch_after: Duration,
    /// Longest time until the feed looks again without being nudged.
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
    /// Nobody can tell whether the ledger was set back.
    #[error(transparent)]
    Notice(#[from] NoticeError),
}

impl Feed {
    /// A feed from that ledger to that queue.
    #[must_use]
    pub fn new(ledger: Ledger, queue: Queue, settings: FeedSettings) -> Self {
        Self {
            ledger,
            queue,
            settings,
            doubt: AtomicBool::new(false),
            told: Told::default(),
        }
    }

    /// One round: as many due rows as can run now. Returns how many jobs the queue took.
    ///
    /// # Errors
    /// The ledger or the queue did not answer.
    pub async fn run_once(&self) -> Result<usize, FeedError> {
        // Asked first, so that no row is marked for a queue that is away.
        if step!("feed.forgot", self.queue.forgot().await)? {
            tracing::info!(
                "the queue is new or lost its jobs; what was dispatched is pushed again"
            );
            self.doubt.store(true, Ordering::Relaxed);
        }
        // Rows are in doubt from being marked to being pushed: a round may end in between.
        step!(
            "feed.notice",
            memory::notice(&self.ledger, &self.queue, &self.told).await
        )?;
        let redispatch_after = if self.doubt.swap(true, Ordering::Relaxed) {
            Duration::ZERO
        } else {
            self.settings.redispatch_after
        };
        let due = step!(
            "feed.take_due",
            self.ledger
                .take_due(self.settings.window, redispatch_after)
                .await
        )?;
        let jobs: Vec<_> = due
            .into_iter()
            .map(|dispatch| Job {
                id: dispatch.job,
                submission: dispatch.id,
                lane: dispatch.priority,
            })
            .collect();
        let pushed = step!("feed.push", self.queue.push(&jobs).await)?;
        self.doubt.store(false, Ordering::Relaxed);
        let taken = pushed.iter().filter(|pushed| **pushed == Pushed::New);
        Ok(taken.count())
    }

    /// How long the feed sleeps unless it is nudged: until the next row is due that was put off, and not for longer than
    /// its period.
    pub async fn rest(&self) -> Duration {
        let next_due = self.ledger.next_due().await;
        if let Err(error) = &next_due {
            tracing::debug!(%error, "the ledger does not tell what is due next");
        }
        pause(self.settings.period, next_due.ok().flatten())
    }

    /// Runs until cancelled: on every nudge, whenever a row is due that was put off, and on a period in case a nudge got
    /// lost.
    pub async fn run(&self, nudge: &Notify, shutdown: &CancellationToken) {
        while !shutdown.is_cancelled() {
            // A row that comes due within the round may be too late for it, and no longer ahead of whoever asks afterwards.
            let planned = Instant::now() + self.rest().await;
            if let Err(error) = self.run_once().await {
                tracing::warn!(%error, "the feed will look again");
            }
            if nudge.notified().now_or_never().is_some() {
                continue;
            }
            let rest = self.rest().await;
            let rest = rest.min(planned.saturating_duration_since(Instant::now()));
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = nudge.notified() => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
    }
}

/// The time until the next round.
fn pause(period: Duration, next_due: Option<Duration>) -> Duration {
    next_due.map_or(period, |due| due.max(SHORTEST_PAUSE).min(period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feed_sleeps_until_the_next_row_is_due_within_bounds() {
        let millis = Duration::from_millis;
        let rows = [
            (None, 1_000),
            (Some(5_000), 1_000),
            (Some(1_000), 1_000),
            (Some(999), 999),
            (Some(50), 50),
            (Some(1), 50),
            (Some(0), 50),
        ];
        for (next_due, expected) in rows {
            let slept = pause(millis(1_000), next_due.map(millis));
            assert_eq!(slept, millis(expected), "{next_due:?}");
        }
    }
}
