//! Whoever wants to know what happens to rows is told here, since every change of a status comes by.

use std::sync::Arc;

use super::Ledger;
use super::types::{Applied, Submission};

/// Told of every row that a transition of this process ended, after the commit.
pub type Observer = Arc<dyn Fn(&Submission) + Send + Sync>;

impl Ledger {
    /// The same ledger, whose transitions somebody observes.
    #[must_use]
    pub fn observed_by(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Tells of the rows that have come to their end.
    pub(super) fn tell(&self, applied: &[Applied]) {
        let Some(observer) = &self.observer else {
            return;
        };
        for outcome in applied {
            match outcome {
                Applied::Done(row) if row.state.status.is_terminal() => observer(row),
                Applied::Done(_) | Applied::Stale | Applied::Illegal(_) | Applied::NotFound => {}
            }
        }
    }
}
