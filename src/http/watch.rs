//! Waits for changes of submissions on behalf of long polls.
//!
//! One task per process looks at every submission that somebody waits for, however many wait for it, and slows down
//! as they become many: long polls cannot flood the database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::ids::{SubmissionId, Version};
use crate::ledger::Ledger;

/// Callers that wait at once; one more is answered immediately.
const MAX_WAITING: usize = 5_000;
/// Pause between two looks at the same submission.
const PAUSE: Duration = Duration::from_millis(250);
/// Looks a second, over all submissions.
const LOOKS_PER_SECOND: u32 = 500;

type Watched = HashMap<SubmissionId, watch::Sender<Option<Version>>>;

/// Waits for changes. Cheap to share.
pub struct Watch {
    ledger: Ledger,
    waiting: Semaphore,
    watched: Mutex<Watched>,
    shutdown: CancellationToken,
}

impl Watch {
    /// A watch that ends all waiting at shutdown.
    pub fn new(ledger: Ledger, shutdown: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            ledger,
            waiting: Semaphore::new(MAX_WAITING),
            watched: Mutex::default(),
            shutdown,
        })
    }

    /// Returns when the submission has another version than that one, at shutdown, or after that time.
    pub async fn changed(self: &Arc<Self>, id: SubmissionId, from: Version, within: Duration) {
        let Ok(_permit) = self.waiting.try_acquire() else {
            return;
        };
        let mut versions = self.subscribe(id);
        let changed = versions.wait_for(|version| version.is_some_and(|version| version != from));
        tokio::select! {
            _ = changed => {}
            () = tokio::time::sleep(within) => {}
            () = self.shutdown.cancelled() => {}
        }
    }

    fn subscribe(self: &Arc<Self>, id: SubmissionId) -> watch::Receiver<Option<Version>> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        // The task ends when nobody waits, and says so under this lock by leaving the map empty.
        let asleep = watched.is_empty();
        let receiver = watched
            .entry(id)
            .or_insert_with(|| watch::channel(None).0)
            .subscribe();
        if asleep {
            tokio::spawn(Arc::clone(self).look());
        }
        receiver
    }

    async fn look(self: Arc<Self>) {
        while let Some(ids) = self.wanted() {
            let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            for id in ids {
                // An error is no change: the caller reads the row itself and hears of it.
                if let Ok(Some(row)) = self.ledger.submission(id).await {
                    self.publish(id, row.version);
                }
            }
            tokio::time::sleep(PAUSE.max(Duration::from_secs(1) * count / LOOKS_PER_SECOND)).await;
        }
    }

    /// What somebody still waits for; `None` once nobody does.
    fn wanted(&self) -> Option<Vec<SubmissionId>> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|_, versions| versions.receiver_count() > 0);
        (!watched.is_empty()).then(|| watched.keys().copied().collect())
    }

    fn publish(&self, id: SubmissionId, version: Version) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(versions) = watched.get(&id) {
            versions.send_replace(Some(version));
        }
    }
}
