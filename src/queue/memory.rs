//! The lanes within one process.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::reach::Marks;
use super::sequence::Sequences;
use super::{Job, Pushed, Reach};
use crate::domain::{key::JobId, schedule::Priority};

/// Jobs of this process, in three lanes.
#[derive(Clone)]
pub struct Memory {
    lanes: Arc<Mutex<Lanes>>,
    sequences: Arc<Sequences>,
    marks: Arc<Marks>,
    wake: watch::Sender<()>,
}

#[derive(Default)]
struct Lanes {
    /// Waiting jobs by rank of their lane, oldest first.
    waiting: [VecDeque<Job>; Priority::ALL.len()],
    /// Every job held, waiting or running, and its lane.
    held: HashMap<JobId, Priority>,
}

impl Lanes {
    fn lane(&mut self, lane: Priority) -> &mut VecDeque<Job> {
        match lane {
            Priority::Critical => &mut self.waiting[0],
            Priority::Normal => &mut self.waiting[1],
            Priority::Low => &mut self.waiting[2],
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            lanes: Arc::default(),
            sequences: Arc::default(),
            marks: Arc::default(),
            wake: watch::Sender::new(()),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Memory {
    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        // Nothing panics between two writes that belong together, so a poisoned lock still guards whole lanes.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sequences(&self) -> &Sequences {
        &self.sequences
    }

    pub(super) fn marks(&self) -> &Marks {
        &self.marks
    }

    pub(super) fn push(&self, jobs: &[Job]) -> Vec<Pushed> {
        let mut lanes = self.lanes();
        let pushed = jobs
            .iter()
            .map(|job| {
                if lanes.held.contains_key(&job.id) {
                    return Pushed::Duplicate;
                }
                lanes.held.insert(job.id.clone(), job.lane);
                lanes.lane(job.lane).push_back(job.clone());
                Pushed::New
            })
            .collect();
        drop(lanes);
        self.wake.send_replace(());
        pushed
    }

    pub(super) fn take(&self, reach: Reach) -> Option<Job> {
        let mut lanes = self.lanes();
        reach
            .lanes()
            .iter()
            .find_map(|lane| lanes.lane(*lane).pop_front())
    }

    pub(super) fn finish(&self, job: &Job) {
        self.lanes().held.remove(&job.id);
    }

    pub(super) fn give_back(&self, job: &Job) {
        self.lanes().lane(job.lane).push_front(job.clone());
        self.wake.send_replace(());
    }

    pub(super) fn depth(&self, lane: Priority) -> u64 {
        let held = self.lanes().held.values().filter(|it| **it == lane).count();
        u64::try_from(held).unwrap_or(u64::MAX)
    }

    pub(super) fn wake_ups(&self) -> watch::Receiver<()> {
        self.wake.subscribe()
    }
}
