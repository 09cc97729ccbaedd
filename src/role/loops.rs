//! The parts of a process that run side by side: supervised, so that none dies unnoticed, and ended together.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::pulse::Pulses;
use super::within_grace;
use crate::app::StartError;
use crate::http::Liveness;

/// Parts under way. Dropped, they are cut off.
pub(super) struct Loops {
    tasks: JoinSet<(&'static str, Result<(), StartError>)>,
    stop: CancellationToken,
    pulses: Pulses,
}

impl Loops {
    /// No part yet. All of them will end on that shutdown.
    pub(super) fn new(shutdown: &CancellationToken) -> Self {
        let stop = shutdown.child_token();
        Self {
            tasks: JoinSet::new(),
            pulses: Pulses::new(stop.clone()),
            stop,
        }
    }

    /// The token that tells the parts to end.
    pub(super) fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Whether every part is alive.
    pub(super) fn liveness(&self) -> Liveness {
        self.pulses.liveness()
    }

    /// Starts a part that may lie still for as long as nobody wants anything of it, such as a server.
    pub(super) fn serve<F>(&mut self, name: &'static str, part: F)
    where
        F: Future<Output = Result<(), StartError>> + Send + 'static,
    {
        let part = self.pulses.until_it_ends(name, part);
        self.spawn(name, part);
    }

    /// Starts a part that comes round by itself, again and again: one that lies still is dead.
    pub(super) fn cycle<F>(&mut self, name: &'static str, part: F)
    where
        F: Future<Output = Result<(), StartError>> + Send + 'static,
    {
        let part = self.pulses.while_it_moves(name, part);
        self.spawn(name, part);
    }

    fn spawn<F>(&mut self, name: &'static str, part: F)
    where
        F: Future<Output = Result<(), StartError>> + Send + 'static,
    {
        self.tasks.spawn(async move {
            let ended = AssertUnwindSafe(part).catch_unwind().await;
            (name, ended.unwrap_or(Err(StartError::Ended(name))))
        });
    }

    /// Goes on until shutdown, and then for as long as the parts need to finish, within the grace. A part that ends
    /// unasked ends the others: a supervisor can start the whole again, and half of it helps nobody.
    ///
    /// # Errors
    /// A part ended unasked.
    pub(super) async fn run(mut self) -> Result<(), StartError> {
        let stop = self.stop.clone();
        let mut outcome = Ok(());
        let ending = async {
            while let Some(joined) = self.tasks.join_next().await {
                let (name, ended) = joined.unwrap_or(("task", Ok(())));
                if !self.stop.is_cancelled() {
                    tracing::error!(part = name, "ended although nobody asked it to");
                    outcome = ended.and(Err(StartError::Ended(name)));
                    self.stop.cancel();
                } else if let Err(error) = ended {
                    tracing::warn!(part = name, %error, "did not end well");
                }
            }
        };
        within_grace(&stop, Box::pin(ending)).await;
        outcome
    }

    /// Tells the parts to end, and waits for them within the grace.
    #[cfg(feature = "devnet")]
    pub(super) async fn end(self) {
        self.stop.cancel();
        // They were asked to: nothing they say now is a failure.
        let _ = self.run().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::time::Instant;

    fn loops() -> (Loops, CancellationToken) {
        let shutdown = CancellationToken::new();
        (Loops::new(&shutdown), shutdown)
    }

    /// Ends when it is told to.
    async fn obedient(stop: CancellationToken) -> Result<(), StartError> {
        stop.cancelled().await;
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_ends_all_parts() {
        let (mut loops, shutdown) = loops();
        loops.serve("one", obedient(loops.stop_token()));
        loops.serve("two", obedient(loops.stop_token()));
        shutdown.cancel();
        assert!(loops.run().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_that_does_not_listen_is_cut_off_after_the_grace() {
        let (mut loops, shutdown) = loops();
        loops.serve("deaf", pending());
        let began = Instant::now();
        shutdown.cancel();
        assert!(loops.run().await.is_ok());
        assert_eq!(began.elapsed(), super::super::GRACE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_that_ends_unasked_ends_the_process_with_its_error() {
        let (mut loops, shutdown) = loops();
        loops.serve("other", obedient(loops.stop_token()));
        loops.serve("worker", async { Ok(()) });
        let error = loops.run().await.expect_err("it ended");
        assert!(matches!(error, StartError::Ended("worker")), "{error}");
        assert!(!shutdown.is_cancelled(), "that is for its owner to do");
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_that_panics_ends_the_process() {
        let (mut loops, _shutdown) = loops();
        loops.serve("other", obedient(loops.stop_token()));
        loops.cycle("feed", async { panic!("a bug") });
        let error = loops.run().await.expect_err("it panicked");
        assert!(matches!(error, StartError::Ended("feed")), "{error}");
    }
}
