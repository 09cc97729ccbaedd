//! Rows of unknown outcome: their hashes are looked up again from time to time, since a node with a longer history may
//! have been configured, or one that kept its events back may tell them now.

use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::look_up::ByHash;
use super::{ReconcileError, Reconciler};
use crate::domain::ids::SubmissionId;
use crate::ledger::{Attempt, Submission};

/// How often some of the rows are looked up.
const PERIOD: Duration = Duration::from_secs(30);
/// Rows looked up at a time; the next time goes on after them.
const BATCH: u64 = 100;

impl Reconciler {
    /// Runs until cancelled.
    pub(super) async fn look_up_late(&self, freed: &Notify, shutdown: &CancellationToken) {
        let mut after = None;
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(PERIOD) => {}
            }
            let looking = self.look_up_indeterminate(after);
            let outcome = tokio::select! {
                () = shutdown.cancelled() => return,
                outcome = looking => outcome,
            };
            match outcome {
                Ok((last, settled)) => {
                    after = last;
                    if settled > 0 {
                        freed.notify_one();
                    }
                }
                Err(error) => tracing::warn!(%error, "rows of unknown outcome are looked up later"),
            }
        }
    }

    /// Looks the hashes of some rows up; says after which row to go on, and how many were settled.
    ///
    /// # Errors
    /// The ledger did not answer.
    pub async fn look_up_indeterminate(
        &self,
        after: Option<SubmissionId>,
    ) -> Result<(Option<SubmissionId>, usize), ReconcileError> {
        if self.ledger.memory().await?.refusal().is_some() {
            return Ok((after, 0));
        }
        let rows = self.ledger.indeterminate(after, BATCH).await?;
        let last = rows.last().map(|(row, _)| row.id);
        let mut settled = 0;
        for (row, attempts) in rows {
            match self.look_up_again(&row, &attempts).await {
                Ok(written) => settled += usize::from(written),
                Err(error) => tracing::warn!(submission = %row.id, %error, "looked up later"),
            }
        }
        Ok((last, settled))
    }

    async fn look_up_again(
        &self,
        row: &Submission,
        attempts: &[Attempt],
    ) -> Result<bool, ReconcileError> {
        let Some(effect) = self.expected(row) else {
            return Ok(false);
        };
        match step!(
            "reconcile.late",
            self.settle_by_hash(row, attempts, None, &effect).await
        )? {
            ByHash::Told { written } => Ok(written),
            ByHash::NotTold | ByHash::NotIndexed => Ok(false),
        }
    }
}
