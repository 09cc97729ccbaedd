//! What passes come to, for whoever watches: counted by this process, and noted in the ledger for the others.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Reconciler, Report};
use crate::ledger::Pass;
use crate::metrics::Metrics;

/// Shortest time between two notes: passes may follow each other faster than a durable commit is worth.
const NOTE_PERIOD: Duration = Duration::from_secs(1);

/// Who is told of passes, and when the ledger last was.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    metrics: Option<Arc<Metrics>>,
    noted: Mutex<Option<Instant>>,
}

impl Reconciler {
    /// The same reconciler, whose passes are counted.
    #[must_use]
    pub fn counted_by(mut self, metrics: Arc<Metrics>) -> Self {
        self.watchers.metrics = Some(metrics);
        self
    }

    /// Counts something, if anything is counted.
    pub(super) fn count(&self, what: impl FnOnce(&Metrics)) {
        if let Some(metrics) = &self.watchers.metrics {
            what(metrics);
        }
    }

    /// Tells of a finished pass. A ledger that does not answer is no reason to stop: the pass itself is written.
    pub(super) async fn passed(&self, report: &Report) {
        let Report {
            leases,
            settled,
            resent,
            faults,
        } = *report;
        self.count(|metrics| metrics.reconciler_passed(leases, settled, resent, faults));
        let Some(seen) = self.chain.latest().filter(|_| self.watchers.note_due()) else {
            return;
        };
        let pass = Pass {
            ledger: seen.ledger,
            close_time: seen.close_time,
            period: self.settings.interval,
        };
        if let Err(error) = step!("progress.note", self.ledger.note_progress(pass).await) {
            tracing::warn!(%error, "others will not see how far the reconciler is");
        }
    }
}

impl Watchers {
    /// Whether the ledger should be told again; if so, it counts as told.
    fn note_due(&self) -> bool {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let due = noted.is_none_or(|at| at.elapsed() >= NOTE_PERIOD);
        if due {
            *noted = Some(Instant::now());
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_is_told_of_the_first_pass_and_then_at_most_once_a_second() {
        let watchers = Watchers::default();
        assert!(watchers.note_due());
        assert!(!watchers.note_due());
        let told = Instant::now().checked_sub(NOTE_PERIOD);
        *watchers
            .noted
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = told;
        assert!(watchers.note_due());
    }
}
