//! How far the memory of a ledger was seen to reach, kept where a restore of the ledger does not reach.
//!
//! A tripwire, not a record: a ledger whose own memory ends before the mark was set back. Losing the mark loses nothing
//! but the chance to notice so.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::{Queue, QueueError};
use crate::domain::memory::Mark;

impl Queue {
    /// Raises the mark of that ledger, and tells the highest that anybody has seen.
    ///
    /// # Errors
    /// Redis did not answer. The mark may be raised.
    pub async fn reached(&self, ledger_id: &str, mark: Mark) -> Result<Mark, QueueError> {
        match self {
            Self::Memory(memory) => Ok(memory.marks().raise(ledger_id, mark)),
            Self::Redis(redis) => redis.reached(ledger_id, mark).await,
        }
    }
}

/// What was seen within this process.
#[derive(Debug, Default)]
pub(super) struct Marks(Mutex<HashMap<String, Mark>>);

impl Marks {
    fn raise(&self, ledger_id: &str, mark: Mark) -> Mark {
        // Each change is one insertion, whole even after a panic elsewhere.
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = marks.entry(ledger_id.to_owned()).or_default();
        *highest = mark.max(*highest);
        *highest
    }
}
