//! Before anything is decided: does the ledger remember all that it ever knew?

use std::sync::atomic::{AtomicU32, Ordering};

use super::{ReconcileError, Reconciler};
use crate::domain::memory::MemoryState;
use crate::flow::memory::{self, NoticeError};
use crate::flow::recover::{Identify, SurveyError};

/// Ledgers between two comparisons of the free accounts with the chain.
const COMPARE_EVERY: u32 = 10;

/// The ledger at which the free accounts were last compared with the chain.
#[derive(Debug, Default)]
pub(super) struct Compared(AtomicU32);

impl Compared {
    fn is_due(&self, ledger: u32) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        last == 0 || ledger >= last.saturating_add(COMPARE_EVERY)
    }
}

impl Reconciler {
    /// Whether anything may be decided. If not, sees to it that this comes to an end.
    pub(super) async fn remembers(&self) -> Result<bool, ReconcileError> {
        let known = self.ledger.memory().await?;
        if let Some(doubt) = &known.doubt {
            memory::stop(&self.ledger, doubt).await?;
            return Ok(false);
        }
        match known.state {
            MemoryState::Open => self.compare().await,
            MemoryState::Lost => {
                self.identify().identify(&known, &self.chain).await?;
                Ok(false)
            }
            MemoryState::Held => Ok(false),
        }
    }

    async fn compare(&self) -> Result<bool, ReconcileError> {
        let ledger = self.chain.latest().map_or(0, |seen| seen.ledger);
        if !self.compared.is_due(ledger) {
            return Ok(true);
        }
        match memory::compare(&self.identify(), memory::Depth::Free).await {
            Ok(()) => self.compared.0.store(ledger, Ordering::Relaxed),
            Err(NoticeError::Ledger(error)) => return Err(error.into()),
            // Rows are settled by evidence of their own meanwhile; the next pass compares again.
            Err(error) => {
                tracing::debug!(%error, "free accounts are compared with the chain later");
            }
        }
        Ok(self.ledger.memory().await?.refusal().is_none())
    }

    pub(super) fn identify(&self) -> Identify<'_> {
        Identify {
            ledger: &self.ledger,
            rpc: &self.rpc,
            identity: &self.identity,
        }
    }

    /// A pair was used by a transaction that may be ours, and the ledger knows nothing of it: no row is decided by a ledger
    /// that has forgotten such a thing.
    pub(super) async fn stop_for(&self, what: &str) -> Result<bool, ReconcileError> {
        memory::stop(&self.ledger, what).await?;
        Ok(false)
    }
}

impl From<SurveyError> for ReconcileError {
    fn from(error: SurveyError) -> Self {
        match error {
            SurveyError::Ledger(error) => Self::Ledger(error),
            SurveyError::Network(fault) => Self::Network(fault),
            SurveyError::NotFresh(_) | SurveyError::NotTold => Self::Memory(error.to_string()),
        }
    }
}
