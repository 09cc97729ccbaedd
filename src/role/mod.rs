//! Long-running roles. Each runs until its shutdown token is cancelled, and finishes what it has begun.
//!
//! - [`api`], [`worker`], [`reconciler`]: the processes of a deployment
//! - [`readiness`]: what they need; `loops`, `pulse` and `probes` keep them together and tell how they are
//! - [`embedded`]: all of them in one process, over SQLite, memory and a simulated network
//! - [`dev`], [`demo`]: that stack to work with, and to be convinced by

pub mod api;
#[cfg(feature = "devnet")]
pub mod demo;
#[cfg(feature = "devnet")]
pub mod dev;
#[cfg(feature = "devnet")]
pub mod embedded;
mod loops;
mod probes;
mod pulse;
pub mod readiness;
pub mod reconciler;
mod signals;
pub mod worker;

pub use signals::shutdown_on_signal;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::flow::feed::Feed;
use crate::flow::relay::Relay;
use crate::ledger::{Ledger, Submission};
use crate::metrics::Metrics;
use loops::Loops;

/// Longest that a role goes on after it was told to end: less than supervisors wait before they kill.
const GRACE: Duration = Duration::from_secs(8);

/// Runs a role's work to its end, but not for longer than [`GRACE`] after shutdown: a node or a database that keeps an
/// answer back must not keep the process. Whatever is left then stands in the ledger, as after a crash, so `None` is
/// no failure.
async fn within_grace<T>(shutdown: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    let lapsed = async {
        shutdown.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        done = work => Some(done),
        () = lapsed => {
            tracing::warn!("something still waits for an answer; the ledger knows what to go on with");
            None
        }
    }
}

/// Starts a feed as one of the parts of a process.
fn feed(feed: Feed, nudge: Arc<Notify>, loops: &mut Loops) {
    let stop = loops.stop_token();
    loops.cycle("feed", async move {
        feed.run(&nudge, &stop).await;
        Ok(())
    });
}

/// Starts a relay of the outbox as one of the parts of a process.
fn relay(relay: Relay, loops: &mut Loops) {
    let stop = loops.stop_token();
    loops.cycle("relay", async move {
        relay.run(&stop).await;
        Ok(())
    });
}

/// The ledger, whose rows are counted when they end.
fn counted(ledger: Ledger, metrics: &Arc<Metrics>) -> Ledger {
    let metrics = Arc::clone(metrics);
    ledger.observed_by(Arc::new(move |row: &Submission| {
        let took = u64::try_from(row.updated_at - row.created_at).unwrap_or(0);
        let took = Duration::from_millis(took);
        metrics.operation_ended(row.kind, row.priority, row.state.status, took);
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_ends_by_itself_or_some_time_after_shutdown() {
        let shutdown = CancellationToken::new();
        let slow = tokio::time::timeout(GRACE * 3, std::future::pending::<()>());
        let done = within_grace(&shutdown, slow).await;
        assert!(done.is_some(), "nobody asked it to end");
        shutdown.cancel();
        assert_eq!(
            within_grace(&shutdown, std::future::ready(7)).await,
            Some(7)
        );
        let began = tokio::time::Instant::now();
        assert_eq!(
            within_grace(&shutdown, std::future::pending::<()>()).await,
            None
        );
        assert_eq!(began.elapsed(), GRACE);
    }
}
