//! One worker process: an apalis worker under an apalis monitor, and the leases of what it runs.

use std::future::Future;

use apalis::prelude::{Monitor, WorkerBuilder};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{
    Job, Queue, QueueError,
    leases::Running,
    slots::Slots,
    worker::{self, Lanes, Shared, Taken},
};

/// See [`Queue::work`].
pub(super) async fn work<F, Fut>(
    queue: &Queue,
    concurrency: usize,
    handler: F,
    shutdown: CancellationToken,
) -> Result<(), QueueError>
where
    F: Fn(Job) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let shared = Shared {
        queue: queue.clone(),
        slots: Slots::new(concurrency),
        running: Running::default(),
        handlers: TaskTracker::new(),
        shutdown: shutdown.clone(),
        outage: std::sync::Arc::default(),
    };
    let name = unique_name();
    tracing::info!(worker = %name, concurrency, "worker starts");
    let drained = async {
        let ended = monitor(&shared, &name, handler)
            .run_with_signal(async {
                shutdown.cancelled().await;
                Ok(())
            })
            .await;
        // Handlers outlive the worker that started them.
        shared.handlers.close();
        shared.handlers.wait().await;
        ended.map_err(|error| QueueError::WorkerEnded(error.to_string()))
    };
    tokio::select! {
        ended = drained => ended,
        never = keep_leases(&shared) => match never {},
    }
}

fn monitor<F, Fut>(shared: &Shared, name: &str, handler: F) -> Monitor
where
    F: Fn(Job) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let shared = shared.clone();
    let name = name.to_owned();
    Monitor::new()
        .should_restart(|worker, error| {
            tracing::error!(worker = worker.name(), %error, "worker failed; it is started again");
            true
        })
        .register(move |restarts| {
            let (running, handler) = (shared.clone(), handler.clone());
            WorkerBuilder::new(format!("{name}-{restarts}"))
                .backend(Lanes::new(shared.clone()))
                .build(move |taken: Taken| worker::run(running.clone(), handler.clone(), taken))
        })
}

/// A name that no other start of any worker has: two workers of one name would hide each other's death.
fn unique_name() -> String {
    format!("worker-{}-{}", std::process::id(), Uuid::new_v4().simple())
}

/// Says again and again which jobs are alive, and brings back those whose worker is not.
async fn keep_leases(shared: &Shared) -> std::convert::Infallible {
    let redis = match &shared.queue {
        // Jobs of this process die with it, and so does the queue.
        Queue::Memory(_) => return std::future::pending().await,
        Queue::Redis(redis) => redis,
    };
    loop {
        let answer = redis.beat(&shared.running.snapshot()).await;
        shared.outage.saw(&answer);
        tokio::time::sleep(super::redis::BEAT).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_starts_share_a_worker_name() {
        assert_ne!(unique_name(), unique_name());
    }
}
