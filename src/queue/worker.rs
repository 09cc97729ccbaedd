//! What an apalis worker polls for jobs, and how it runs one.

use std::{
    convert::Infallible,
    future::Future,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use apalis::prelude::{Backend, Task, TaskBuilder, TaskId, WorkerContext};
use apalis_core::{
    backend::{BackendConfig, finalize::Ephemeral, future::BoxSyncFuture},
    layers::Identity,
};
use futures::FutureExt;
use tokio::{sync::watch, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Job, Queue, QueueError,
    leases::{Run, Running},
    slots::{Slot, Slots},
};

/// How long a worker waits after an error of the queue before it asks again.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// How long the end of a job is reported to a queue that does not answer. After that the lease lapses and the job runs
/// once more, which the ledger makes harmless.
const FINISH_PATIENCE: Duration = Duration::from_secs(5);

/// What the parts of one worker process share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) queue: Queue,
    pub(super) slots: Slots,
    pub(super) running: Running,
    /// Handlers run as tasks of their own, so that a restarted worker does not drop them in the middle.
    pub(super) handlers: TaskTracker,
    pub(super) shutdown: CancellationToken,
    pub(super) outage: Arc<Outage>,
}

/// Says once that the queue is away, and once that it is back.
#[derive(Debug, Default)]
pub(super) struct Outage(AtomicBool);

impl Outage {
    pub(super) fn saw<T>(&self, answer: &Result<T, QueueError>) {
        match answer {
            Ok(_) => {
                if self.0.swap(false, Ordering::Relaxed) {
                    tracing::info!("the queue answers again");
                }
            }
            Err(error) => {
                if !self.0.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "the queue does not answer; workers wait for it");
                }
            }
        }
    }
}

/// A job in its slot. What it holds is given up when it is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    job: Job,
    run: Run,
    slot: Slot,
}

/// The jobs of all lanes, one at a time, for as long as there are free slots: an apalis backend that never fails.
pub(super) struct Lanes {
    shared: Shared,
    next: Option<BoxSyncFuture<Option<Taken>>>,
    giving_back: Option<BoxSyncFuture<()>>,
}

impl Lanes {
    pub(super) fn new(shared: Shared) -> Self {
        Self {
            shared,
            next: None,
            giving_back: None,
        }
    }
}

impl Backend for Lanes {
    type Task = Task<Taken>;
    type Error = Infallible;

    fn poll_ready(
        &mut self,
        _: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Option<Result<Self::Task, Self::Error>>> {
        let shared = &self.shared;
        let next = self
            .next
            .get_or_insert_with(|| next(shared.clone()).boxed().into());
        next.poll_unpin(cx).map(|taken| {
            self.next = None;
            taken.map(|taken| {
                let id = TaskId::from_string(taken.job.id.as_str());
                Ok(TaskBuilder::new(taken).task_id(id).build())
            })
        })
    }

    fn poll_close(
        &mut self,
        cx: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Result<(), Self::Error>> {
        if let Some(next) = &mut self.next {
            let Poll::Ready(taken) = next.poll_unpin(cx) else {
                return Poll::Pending;
            };
            self.next = None;
            let shared = self.shared.clone();
            self.giving_back = taken.map(|taken| give_back(shared, taken.job).boxed().into());
        }
        match &mut self.giving_back {
            Some(giving_back) => giving_back.poll_unpin(cx).map(Ok),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl BackendConfig for Lanes {
    type Args = Taken;
    type Id = String;
    type Kind = Ephemeral;
    type Config = ();
    type Layer = Identity;

    fn config(&self) -> &Self::Config {
        &()
    }

    fn middleware(&mut self, _: &mut WorkerContext) -> Self::Layer {
        Identity::new()
    }
}

/// Waits for a free slot and then for a job to fill it; `None` on shutdown.
async fn next(shared: Shared) -> Option<Taken> {
    let mut wake_ups = shared.queue.wake_ups();
    let mut slot = tokio::select! {
        biased;
        () = shared.shutdown.cancelled() => return None,
        slot = shared.slots.free() => slot?,
    };
    loop {
        // Marked as seen before looking, so that a push between looking and waiting is not missed.
        wake_ups.mark_unchanged();
        let answer = shared.queue.take(slot.reach()).await;
        shared.outage.saw(&answer);
        if shared.shutdown.is_cancelled() {
            if let Ok(Some(job)) = answer {
                give_back(shared, job).await;
            }
            return None;
        }
        match answer {
            Ok(Some(job)) => {
                if let Some(run) = shared.running.start(&job) {
                    slot.settle(&job);
                    return Some(Taken { job, run, slot });
                }
                tracing::info!(job = %job.id, submission = %job.submission, "the job runs here already");
            }
            Ok(None) => wait(&shared, &mut wake_ups, &mut slot).await,
            Err(_) => pause(&shared.shutdown).await,
        }
    }
}

/// Waits until it is worth looking for a job again.
async fn wait(shared: &Shared, wake_ups: &mut watch::Receiver<()>, slot: &mut Slot) {
    tokio::select! {
        () = shared.shutdown.cancelled() => {}
        // The sender lives in the queue that `shared` holds, so this is always a wake-up.
        _ = wake_ups.changed() => {}
        () = shared.slots.widen(slot) => {}
    }
}

async fn pause(shutdown: &CancellationToken) {
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = tokio::time::sleep(RETRY_AFTER) => {}
    }
}

async fn give_back(shared: Shared, job: Job) {
    if let Err(error) = shared.queue.give_back(&job).await {
        tracing::warn!(%error, job = %job.id, "could not give a job back; it runs when its lease has lapsed");
    }
}

/// Runs the handler on a job and forgets the job, in a task of its own. Never fails: retries are the ledger's.
pub(super) async fn run<F, Fut>(shared: Shared, handler: F, taken: Taken) -> bool
where
    F: Fn(Job) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let handlers = shared.handlers.clone();
    let task = handlers.spawn(async move {
        let Taken { job, run, slot } = taken;
        let handled = AssertUnwindSafe(async { handler(job.clone()).await }).catch_unwind();
        if handled.await.is_err() {
            tracing::error!(job = %job.id, submission = %job.submission, "a handler panicked");
        }
        finish(&shared, &job).await;
        drop((run, slot));
    });
    task.await.is_ok()
}

async fn finish(shared: &Shared, job: &Job) {
    let deadline = Instant::now() + FINISH_PATIENCE;
    loop {
        let answer = shared.queue.finish(job).await;
        shared.outage.saw(&answer);
        match answer {
            Ok(()) => return,
            Err(error) if Instant::now() > deadline => {
                tracing::warn!(%error, job = %job.id, "could not report the end of a job");
                return;
            }
            Err(_) => tokio::time::sleep(RETRY_AFTER).await,
        }
    }
}
