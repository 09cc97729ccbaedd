//! Handing out sequences of an account that several submissions share, each once among those who ask at the same time.
//!
//! A proposal, not a promise: it is the ledger that lets a submission hold one. What is lost here is taken from the
//! ledger's numbers again, which every question brings along.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::{Queue, QueueError};
use crate::domain::ids::AccountId;

/// A question for the next sequence of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The account.
    pub account: AccountId,
    /// The highest sequence that the ledger knows to be used or held.
    pub after: i64,
    /// The highest that may be handed out.
    pub last: i64,
    /// Whether what was handed out before is forgotten: it disagreed with the ledger.
    pub anew: bool,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Above what the ledger knows and above all that was handed out; none when that is beyond the last.
    pub sequence: Option<i64>,
    /// Whether it was remembered what had been handed out before.
    pub remembered: bool,
}

impl Queue {
    /// Hands out the next sequence of an account.
    ///
    /// # Errors
    /// Redis did not answer. A number that was handed out meanwhile is lost, which the ledger gets over.
    pub async fn draw(&self, draw: Draw) -> Result<Drawn, QueueError> {
        match self {
            Self::Memory(memory) => Ok(memory.sequences().draw(draw)),
            Self::Redis(redis) => redis.draw(draw).await,
        }
    }
}

/// What was handed out within this process.
#[derive(Debug, Default)]
pub(super) struct Sequences(Mutex<HashMap<AccountId, i64>>);

impl Sequences {
    fn draw(&self, draw: Draw) -> Drawn {
        // Each change is one insertion, whole even after a panic elsewhere.
        let mut handed_out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = handed_out.get(&draw.account).copied();
        let last = known
            .filter(|_| !draw.anew)
            .map_or(draw.after, |known| known.max(draw.after));
        let sequence = last.checked_add(1).filter(|next| *next <= draw.last);
        if let Some(sequence) = sequence {
            handed_out.insert(draw.account, sequence);
        }
        Drawn {
            sequence,
            remembered: known.is_some(),
        }
    }
}
