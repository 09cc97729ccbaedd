//! The queue: from the push of a job to the start of its handler, by a worker with nothing else to do.

use std::time::{Duration, Instant};

use secrecy::SecretString;
use tender::domain::ids::SubmissionId;
use tender::domain::key::JobId;
use tender::domain::schedule::Priority;
use tender::queue::{Job, Queue, RedisOptions};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Outcome;
use crate::deployment::Servers;
use crate::report::{Goal, Report, quantile};

const RUNS: usize = 3;
const JOBS: usize = 500;
/// Jobs before the first that counts.
const WARM_UP: usize = 50;
/// Long enough for the worker to have looked for more and to wait.
const IDLE: Duration = Duration::from_millis(2);
/// Handlers at once.
const CONCURRENCY: usize = 32;

pub async fn measure(report: &mut Report) -> Outcome<()> {
    let servers = Servers::start();
    let url = SecretString::from(servers.redis.url());
    let redis = async || Queue::redis(&url, RedisOptions::default()).await;
    // Two handles: a job goes from one process to another.
    latency(report, "Redis", &redis().await?, &redis().await?).await?;
    let memory = Queue::memory();
    latency(report, "in memory", &memory, &memory).await
}

async fn latency(report: &mut Report, name: &str, from: &Queue, to: &Queue) -> Outcome<()> {
    let (start, mut starts) = mpsc::unbounded_channel();
    let shutdown = CancellationToken::new();
    let (worker, stop) = (to.clone(), shutdown.clone());
    let work = tokio::spawn(async move {
        let handler = move |_: Job| {
            // Noted by the handler, so that what wakes this bench up does not count.
            let _ = start.send(Instant::now());
            async {}
        };
        worker.work(CONCURRENCY, handler, stop).await
    });
    let (mut p50, mut p99) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut times = Vec::with_capacity(JOBS);
        for n in 0..WARM_UP + JOBS {
            tokio::time::sleep(IDLE).await;
            let job = fresh_job()?;
            let began = Instant::now();
            from.push(&[job]).await?;
            let started = starts.recv().await.ok_or("the worker ended")?;
            if n >= WARM_UP {
                times.push(started.saturating_duration_since(began));
            }
        }
        p50.push(quantile(&mut times, 50));
        p99.push(quantile(&mut times, 99));
    }
    shutdown.cancel();
    work.await??;
    report.judge(
        format!("push to start, {name}, p50"),
        "ms",
        &p50,
        Goal::AtMost(1.5),
    );
    report.judge(
        format!("push to start, {name}, p99"),
        "ms",
        &p99,
        Goal::AtMost(6.0),
    );
    Ok(())
}

fn fresh_job() -> Outcome<Job> {
    let id = Uuid::new_v4();
    Ok(Job {
        id: JobId::of(&"bench".parse()?, &id.to_string().parse()?, 1),
        submission: SubmissionId(id),
        lane: Priority::Normal,
    })
}
