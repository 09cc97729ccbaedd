//! A worker process as the tests see it: which jobs it starts, and a gate that keeps them running.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "each test binary uses its own part, and a failed expectation is how a test speaks"
)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tender::{
    domain::{ids::SubmissionId, key::JobId, schedule::Priority},
    queue::{Job, Queue, QueueError},
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long anything may take on a machine that is busy with other tests.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Long enough for something to happen that must not happen.
pub const QUIET: Duration = Duration::from_millis(300);

/// The `n`-th job of a test: the same for the same `n`.
pub fn job(n: u64, lane: Priority) -> Job {
    Job {
        id: JobId::of(
            &"acme".parse().unwrap(),
            &format!("key-{n}").parse().unwrap(),
            1,
        ),
        submission: SubmissionId(Uuid::from_u128(u128::from(n) + 1)),
        lane,
    }
}

pub fn jobs(numbers: std::ops::Range<u64>, lane: Priority) -> Vec<Job> {
    numbers.map(|n| job(n, lane)).collect()
}

/// A running call of [`Queue::work`].
pub struct Desk {
    started: mpsc::UnboundedReceiver<Job>,
    gate: Arc<Semaphore>,
    most_at_once: Arc<AtomicUsize>,
    shutdown: CancellationToken,
    work: JoinHandle<Result<(), QueueError>>,
}

impl Desk {
    /// Handlers that return at once.
    pub fn open(queue: &Queue, concurrency: usize) -> Self {
        Self::new(queue, concurrency, Semaphore::MAX_PERMITS)
    }

    /// Handlers that run until [`Desk::release`].
    pub fn gated(queue: &Queue, concurrency: usize) -> Self {
        Self::new(queue, concurrency, 0)
    }

    fn new(queue: &Queue, concurrency: usize, open: usize) -> Self {
        let (start, started) = mpsc::unbounded_channel();
        let gate = Arc::new(Semaphore::new(open));
        let most_at_once = Arc::new(AtomicUsize::new(0));
        let now = Arc::new(AtomicUsize::new(0));
        let shutdown = CancellationToken::new();
        let handler = {
            let (gate, most) = (Arc::clone(&gate), Arc::clone(&most_at_once));
            move |job: Job| {
                let (start, gate) = (start.clone(), Arc::clone(&gate));
                let (now, most) = (Arc::clone(&now), Arc::clone(&most));
                async move {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    // The test may have stopped listening.
                    let _ = start.send(job);
                    gate.acquire().await.unwrap().forget();
                    now.fetch_sub(1, Ordering::SeqCst);
                }
            }
        };
        let (queue, token) = (queue.clone(), shutdown.clone());
        let work = tokio::spawn(async move { queue.work(concurrency, handler, token).await });
        Self {
            started,
            gate,
            most_at_once,
            shutdown,
            work,
        }
    }

    /// The next job that starts.
    pub async fn started(&mut self) -> Job {
        timeout(PATIENCE, self.started.recv())
            .await
            .expect("a job starts in time")
            .expect("the worker lives")
    }

    pub async fn starts(&mut self, count: usize) -> Vec<Job> {
        let mut jobs = Vec::with_capacity(count);
        for _ in 0..count {
            jobs.push(self.started().await);
        }
        jobs
    }

    /// Fails the test when a job starts for a while.
    pub async fn stays_quiet(&mut self) {
        if let Ok(job) = timeout(QUIET, self.started.recv()).await {
            panic!("{job:?} started");
        }
    }

    /// Lets `count` handlers return.
    pub fn release(&self, count: usize) {
        self.gate.add_permits(count);
    }

    pub fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }

    pub fn stop(&self) {
        self.shutdown.cancel();
    }

    /// Shuts down and waits until all that started is finished; returns what started and was not asked for.
    pub async fn close(mut self) -> Vec<Job> {
        self.stop();
        timeout(PATIENCE, self.work)
            .await
            .expect("the worker ends in time")
            .expect("the worker does not panic")
            .expect("the worker ends well");
        let mut rest = Vec::new();
        while let Ok(job) = self.started.try_recv() {
            rest.push(job);
        }
        rest
    }
}
