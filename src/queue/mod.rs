//! The queue: hints to the workers that a submission is due.
//!
//! A job carries ids only; the ledger holds the truth. Losing the queue loses no work, because the ledger pushes what
//! is due again, and running a job twice costs a wasted claim, because the ledger decides who holds the submission.
//!
//! Architecture invariant: the only module that names apalis and Redis, and it knows no flow: a handler is given to it.
//!
//! Workers and their supervision are apalis'. The storage below them is not apalis-redis 1.0 but scripts of our own
//! behind apalis-core's public `Backend` trait, since no setting of apalis-redis keeps these promises:
//!
//! - A worker's life is judged by the clocks of the hosts: with one clock off, live workers lose their jobs for ever.
//!   Here Redis' own clock judges, job by job.
//! - A job whose fetch answer is lost stays with a worker that never heard of it until that process ends. Here a lease
//!   lapses unless the worker knows the job and says so.
//! - One Redis error ends the worker and drops its handlers in the middle. Here errors are waited out, and handlers
//!   are tasks of their own.
//! - Finished jobs leave data, metadata and set entries behind. Here a finished job leaves nothing.

mod leases;
mod memory;
mod reach;
mod redis;
mod sequence;
mod slots;
mod supervise;
mod worker;

use std::future::Future;

use secrecy::SecretString;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::domain::{ids::SubmissionId, key::JobId, schedule::Priority};

pub use memory::Memory;
pub use redis::{Redis, RedisOptions};
pub use sequence::{Draw, Drawn};

/// A hint that a submission is due. Ids only: a stale or lost job can mislead nobody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// Derived from the key and the round of dispatch; the queue holds each id at most once.
    pub id: JobId,
    /// The row of the ledger to look at.
    pub submission: SubmissionId,
    /// The lane to wait in.
    pub lane: Priority,
}

/// What became of a pushed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It waits in its lane.
    New,
    /// The lane holds a job of this id, waiting or running: rejected, and logged.
    Duplicate,
}

/// Why the queue could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The address is no Redis URL. It is not repeated here, as it may hold a password.
    #[error("not a Redis URL: redis://[user:password@]host[:port][/database] is needed")]
    BadUrl,
    /// No answer, or an error, from Redis.
    #[error("Redis: {0}")]
    Redis(#[from] ::redis::RedisError),
    /// Another caller has just failed to connect.
    #[error("Redis cannot be reached")]
    Unreachable,
    /// The supervised worker ended although nobody asked it to.
    #[error("the queue's worker ended: {0}")]
    WorkerEnded(String),
}

/// Which lanes a worker may take from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Critical only: the slots open to the other lanes are all busy.
    Critical,
    /// All lanes, the most urgent first.
    All,
}

impl Reach {
    fn lanes(self) -> &'static [Priority] {
        match self {
            Self::Critical => &Priority::ALL[..1],
            Self::All => &Priority::ALL,
        }
    }
}

/// Three lanes of jobs, one for each priority. Clones share them.
#[derive(Clone, Debug)]
pub enum Queue {
    /// Within this process: for the embedded product and for tests.
    Memory(Memory),
    /// Over Redis: for any number of processes.
    Redis(Redis),
}

impl Queue {
    /// Empty lanes within this process.
    #[must_use]
    pub fn memory() -> Self {
        Self::Memory(Memory::default())
    }

    /// Lanes on a Redis server. Does not wait for the server: while it is away pushing fails, workers wait, and
    /// [`Queue::ping`] says so.
    ///
    /// # Errors
    /// The URL does not parse.
    pub async fn redis(url: &SecretString, options: RedisOptions) -> Result<Self, QueueError> {
        Redis::new(url, options).map(Self::Redis)
    }

    /// Puts jobs at the end of their lanes; says for each, in order, whether it was new.
    ///
    /// # Errors
    /// Redis did not answer. Some of the jobs may be in their lanes: pushing them again is safe.
    pub async fn push(&self, jobs: &[Job]) -> Result<Vec<Pushed>, QueueError> {
        let pushed = match self {
            Self::Memory(memory) => memory.push(jobs),
            Self::Redis(redis) => redis.push(jobs).await?,
        };
        for (job, pushed) in jobs.iter().zip(&pushed) {
            if *pushed == Pushed::Duplicate {
                tracing::info!(job = %job.id, submission = %job.submission, "duplicate enqueue rejected");
            }
        }
        Ok(pushed)
    }

    /// Whether the queue may have lost jobs since anybody asked this: it was emptied, or started anew. Tells one caller.
    ///
    /// # Errors
    /// Redis did not answer.
    pub async fn forgot(&self) -> Result<bool, QueueError> {
        match self {
            Self::Memory(_) => Ok(false),
            Self::Redis(redis) => redis.forgot().await,
        }
    }

    /// How many jobs a lane holds, waiting or running.
    ///
    /// # Errors
    /// Redis did not answer.
    pub async fn depth(&self, lane: Priority) -> Result<u64, QueueError> {
        match self {
            Self::Memory(memory) => Ok(memory.depth(lane)),
            Self::Redis(redis) => redis.depth(lane).await,
        }
    }

    /// Whether the queue can work: it answers, and takes writes.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), QueueError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Redis(redis) => redis.ping().await,
        }
    }

    /// Runs `handler` on the jobs, at most `concurrency` at once (at least one), until `shutdown`.
    ///
    /// Each free slot takes the most urgent job. A quarter of the slots, and at least one where there are two or
    /// more, is kept for critical jobs, so that these never wait for slower lanes. A single slot cannot be kept free.
    ///
    /// A handler that returns or panics has finished its job: retries are the ledger's. Errors of Redis are waited out.
    /// On shutdown no job is taken any more, running handlers are finished, and a job that was taken but not started
    /// goes back to its lane.
    ///
    /// # Errors
    /// Only if supervision itself fails; never for Redis.
    pub async fn work<F, Fut>(
        &self,
        concurrency: usize,
        handler: F,
        shutdown: CancellationToken,
    ) -> Result<(), QueueError>
    where
        F: Fn(Job) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        supervise::work(self, concurrency, handler, shutdown).await
    }

    /// Takes the most urgent job within reach, on a lease where the backend has leases.
    async fn take(&self, reach: Reach) -> Result<Option<Job>, QueueError> {
        match self {
            Self::Memory(memory) => Ok(memory.take(reach)),
            Self::Redis(redis) => redis.take(reach).await,
        }
    }

    /// Forgets a job that has run.
    async fn finish(&self, job: &Job) -> Result<(), QueueError> {
        match self {
            Self::Memory(memory) => {
                memory.finish(job);
                Ok(())
            }
            Self::Redis(redis) => redis.finish(job).await,
        }
    }

    /// Puts a job that was taken but not started back at the head of its lane.
    async fn give_back(&self, job: &Job) -> Result<(), QueueError> {
        match self {
            Self::Memory(memory) => {
                memory.give_back(job);
                Ok(())
            }
            Self::Redis(redis) => redis.give_back(job).await,
        }
    }

    /// Changes whenever a worker that waits should look again.
    fn wake_ups(&self) -> watch::Receiver<()> {
        match self {
            Self::Memory(memory) => memory.wake_ups(),
            Self::Redis(redis) => redis.wake_ups(),
        }
    }
}
