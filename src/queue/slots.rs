//! How many handlers run at once, and which slots are kept for critical jobs.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::{Job, Reach};
use crate::domain::schedule::Priority;

/// The slots of one worker process.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// One permit for every slot.
    all: Arc<Semaphore>,
    /// One permit for every slot that other lanes than critical may fill.
    open: Arc<Semaphore>,
}

/// A slot that runs, or looks for, a job.
#[derive(Debug)]
pub(super) struct Slot {
    _any: OwnedSemaphorePermit,
    open: Option<OwnedSemaphorePermit>,
}

impl Slots {
    /// `concurrency` slots, at least one.
    pub(super) fn new(concurrency: usize) -> Self {
        let all = concurrency.clamp(1, Semaphore::MAX_PERMITS);
        // A single slot cannot be kept free, or the other lanes would never run.
        let kept = if all == 1 { 0 } else { all.div_ceil(4) };
        Self {
            all: Arc::new(Semaphore::new(all)),
            open: Arc::new(Semaphore::new(all - kept)),
        }
    }

    /// Waits for a free slot. `None` never happens while the slots live: nobody closes them.
    pub(super) async fn free(&self) -> Option<Slot> {
        let any = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Slot {
            _any: any,
            open: self.try_open(),
        })
    }

    fn try_open(&self) -> Option<OwnedSemaphorePermit> {
        match Arc::clone(&self.open).try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => None,
        }
    }

    /// Waits until the slot may reach further than now; for ever if it reaches all lanes already.
    pub(super) async fn widen(&self, slot: &mut Slot) {
        if slot.open.is_some() {
            return std::future::pending().await;
        }
        slot.open = Arc::clone(&self.open).acquire_owned().await.ok();
    }
}

impl Slot {
    /// The lanes whose jobs it may run.
    pub(super) fn reach(&self) -> Reach {
        match self.open {
            Some(_) => Reach::All,
            None => Reach::Critical,
        }
    }

    /// Settles on a job: a critical one does not use up what the other lanes may fill.
    pub(super) fn settle(&mut self, job: &Job) {
        match job.lane {
            Priority::Critical => self.open = None,
            Priority::Normal | Priority::Low => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_quarter_of_the_slots_is_kept_for_critical_jobs() {
        for (concurrency, open) in [(0, 1), (1, 1), (2, 1), (4, 3), (5, 3), (16, 12)] {
            let slots = Slots::new(concurrency);
            let mut taken = Vec::new();
            for _ in 0..concurrency.max(1) {
                taken.push(slots.free().await.unwrap());
            }
            let reaching = taken.iter().filter(|slot| slot.reach() == Reach::All);
            assert_eq!(reaching.count(), open, "{concurrency} slots");
        }
    }
}
