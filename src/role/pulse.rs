//! Whether the parts of a process are alive, told from outside of them: a loop that is not polled any more hangs.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::http::{Check, Liveness};

/// A loop that did not move for so long is dead: nothing that the settings allow makes one wait longer than 120 s for
/// an answer, or 60 s for its next round.
const STILL: Duration = Duration::from_secs(180);
/// A job that goes on for so long hangs: each of its few steps waits for a bounded time.
const LONGEST_JOB: Duration = Duration::from_secs(600);

/// What the parts of a process last showed of themselves. Clones share it.
#[derive(Clone)]
pub(super) struct Pulses {
    parts: Arc<Mutex<BTreeMap<&'static str, Pulse>>>,
    stop: CancellationToken,
}

#[derive(Clone, Copy, Debug)]
enum Pulse {
    /// Has not ended, and need not move.
    Serves,
    /// Moved last at that time.
    Moved(Instant),
    /// Is over.
    Ended,
}

impl Pulses {
    /// Of no part yet. Once told to stop, a part may end.
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self {
            parts: Arc::default(),
            stop,
        }
    }

    /// Watches a part for its end only.
    pub(super) fn until_it_ends<F: Future>(
        &self,
        name: &'static str,
        part: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        let over = self.begin(name, Pulse::Serves);
        async move {
            let _over = over;
            part.await
        }
    }

    /// Watches a part for its end and for lying still.
    pub(super) fn while_it_moves<F: Future>(
        &self,
        name: &'static str,
        part: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        let over = self.begin(name, Pulse::Moved(Instant::now()));
        async move {
            let mut part = pin!(part);
            poll_fn(|cx| {
                over.pulses.set(name, Pulse::Moved(Instant::now()));
                part.as_mut().poll(cx)
            })
            .await
        }
    }

    /// What is known of each part.
    pub(super) fn liveness(&self) -> Liveness {
        let pulses = self.clone();
        Arc::new(move || pulses.checks())
    }

    fn checks(&self) -> Vec<Check> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = parts.iter().map(|(name, pulse)| self.check(name, *pulse));
        parts.collect()
    }

    fn check(&self, name: &'static str, pulse: Pulse) -> Check {
        let dead = match pulse {
            Pulse::Ended if !self.stop.is_cancelled() => Some("has ended".to_owned()),
            Pulse::Moved(at) if at.elapsed() > STILL => {
                Some(format!("has not moved for {} s", at.elapsed().as_secs()))
            }
            Pulse::Serves | Pulse::Moved(_) | Pulse::Ended => None,
        };
        Check {
            name,
            good: dead.is_none(),
            detail: dead.unwrap_or_else(|| "runs".to_owned()),
        }
    }

    fn begin(&self, name: &'static str, pulse: Pulse) -> Over {
        self.set(name, pulse);
        Over {
            name,
            pulses: self.clone(),
        }
    }

    fn set(&self, name: &'static str, pulse: Pulse) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.insert(name, pulse);
    }
}

/// Says that a part is over when it is dropped, however it ended.
struct Over {
    name: &'static str,
    pulses: Pulses,
}

impl Drop for Over {
    fn drop(&mut self) {
        self.pulses.set(self.name, Pulse::Ended);
    }
}

/// The jobs of a worker that run, and since when. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    last: u64,
    since: BTreeMap<u64, Instant>,
}

impl Jobs {
    /// A job has begun; it is over when the answer is dropped.
    pub(super) fn begin(&self) -> impl Drop + use<> {
        struct Job(Jobs, u64);
        impl Drop for Job {
            fn drop(&mut self) {
                self.0.with(|running| running.since.remove(&self.1));
            }
        }
        let number = self.with(|running| {
            running.last += 1;
            running.since.insert(running.last, Instant::now());
            running.last
        });
        Job(self.clone(), number)
    }

    /// With this, the process is alive only as long as no job hangs.
    pub(super) fn watched_by(&self, liveness: Liveness) -> Liveness {
        let jobs = self.clone();
        Arc::new(move || {
            let mut checks = liveness();
            checks.push(jobs.check());
            checks
        })
    }

    fn check(&self) -> Check {
        let oldest = self.with(|running| running.since.values().next().copied());
        let age = oldest.map_or(Duration::ZERO, |since| since.elapsed());
        let good = age <= LONGEST_JOB;
        let detail = if good {
            "end in time".to_owned()
        } else {
            format!("one has run for {} s", age.as_secs())
        };
        Check {
            name: "jobs",
            good,
            detail,
        }
    }

    fn with<T>(&self, what: impl FnOnce(&mut Running) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::future::pending;
    use tokio::time::advance;

    fn dead(liveness: &Liveness) -> Vec<(&'static str, String)> {
        let checks = liveness().into_iter().filter(|check| !check.good);
        checks.map(|check| (check.name, check.detail)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_lies_still_is_dead_and_a_server_is_not() {
        let pulses = Pulses::new(CancellationToken::new());
        let liveness = pulses.liveness();
        let mut server = pin!(pulses.until_it_ends("api", pending::<()>()));
        let mut hangs = pin!(pulses.while_it_moves("worker", pending::<()>()));
        let mut moves = pin!(pulses.while_it_moves("feed", pending::<()>()));
        assert!(poll!(&mut server).is_pending() && poll!(&mut hangs).is_pending());
        advance(STILL).await;
        assert!(poll!(&mut moves).is_pending());
        assert_eq!(dead(&liveness), []);
        advance(Duration::from_secs(1)).await;
        let said = "has not moved for 181 s".to_owned();
        assert_eq!(dead(&liveness), [("worker", said)]);
    }

    #[tokio::test]
    async fn a_part_that_ended_is_dead_unless_it_was_told_to_end() {
        let stop = CancellationToken::new();
        let pulses = Pulses::new(stop.clone());
        let liveness = pulses.liveness();
        pulses.until_it_ends("worker", async {}).await;
        drop(pulses.while_it_moves("feed", pending::<()>()));
        let said = || "has ended".to_owned();
        assert_eq!(dead(&liveness), [("feed", said()), ("worker", said())]);
        stop.cancel();
        assert_eq!(dead(&liveness), []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_whose_job_hangs_is_dead_until_it_ends() {
        let jobs = Jobs::default();
        let liveness = jobs.watched_by(Arc::new(Vec::new));
        let hanging = jobs.begin();
        advance(LONGEST_JOB).await;
        drop(jobs.begin());
        assert_eq!(dead(&liveness), []);
        advance(Duration::from_secs(1)).await;
        let said = "one has run for 601 s".to_owned();
        assert_eq!(dead(&liveness), [("jobs", said)]);
        drop(hanging);
        assert_eq!(dead(&liveness), []);
    }
}
