//! The jobs that this process runs now: what it renews leases for, and never starts twice.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::Job;
use crate::domain::{key::JobId, schedule::Priority};

/// The running jobs of one worker process. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Arc<Mutex<HashMap<JobId, Priority>>>);

/// A job that runs; ends when dropped.
#[derive(Debug)]
pub(super) struct Run {
    running: Running,
    id: JobId,
}

impl Running {
    fn jobs(&self) -> MutexGuard<'_, HashMap<JobId, Priority>> {
        // Each change is one insertion or removal, whole even after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a job, unless it runs here already: its lease lapsed, or the queue was flushed, while it went on.
    pub(super) fn start(&self, job: &Job) -> Option<Run> {
        let before = self.jobs().insert(job.id.clone(), job.lane);
        before.is_none().then(|| Run {
            running: self.clone(),
            id: job.id.clone(),
        })
    }

    /// What runs now.
    pub(super) fn snapshot(&self) -> Vec<(JobId, Priority)> {
        let jobs = self.jobs();
        jobs.iter().map(|(id, lane)| (id.clone(), *lane)).collect()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.running.jobs().remove(&self.id);
    }
}
