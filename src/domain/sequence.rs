//! Handing out the sequences of one account that several submissions share.
//!
//! The network includes one transaction of an account per ledger, in the order of its sequences. So few are handed out
//! ahead, the lowest that is free always goes first, and whoever holds a later one waits until it is the account's next.

use std::collections::BTreeSet;

/// Sequences of one account that are handed out at a time: one with the network, and one signed and recorded behind it,
/// ready for the next ledger. More would gain nothing, and all of them wait when the first one is late.
pub const DEPTH: u32 = 2;

/// What is known of the sequences of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    /// The lowest that is not known, by evidence, to be used.
    pub next: i64,
    /// Those that submissions hold.
    pub held: BTreeSet<i64>,
    /// The account's sequence number on the chain, where it was asked for.
    pub chain: Option<i64>,
}

/// Which sequence the next claim takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// This very one: it lies below one that is held, so that its holder could never be applied; or the chain has gone
    /// past it, and only a submission that claims it finds out by whom it was used.
    Gap(i64),
    /// One above `after`, and none above `last`.
    Fresh {
        /// The highest that is used or held.
        after: i64,
        /// The highest that may be handed out now.
        last: i64,
    },
    /// None before one of those held is settled.
    Full,
}

/// Why a sequence cannot be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is used.
    Used,
    /// Another submission holds it.
    Held,
    /// It is further ahead than any may be.
    Ahead,
}

impl Sequences {
    /// The highest sequence that may be handed out now.
    fn last(&self, depth: u32) -> i64 {
        self.next.saturating_add(i64::from(depth)) - 1
    }

    /// Which sequence the next claim takes: of those free the lowest.
    #[must_use]
    pub fn allocate(&self, depth: u32) -> Allocation {
        let last = self.last(depth);
        let Some(free) = (self.next..=last).find(|sequence| !self.held.contains(sequence)) else {
            return Allocation::Full;
        };
        let top = self.held.last().copied().max(self.chain);
        match top.filter(|top| free <= *top) {
            Some(_) => Allocation::Gap(free),
            None => Allocation::Fresh {
                after: free - 1,
                last,
            },
        }
    }

    /// Whether a submission may hold the sequence, whoever proposed it.
    ///
    /// # Errors
    /// Why not.
    pub fn admit(&self, sequence: i64, depth: u32) -> Result<(), Refusal> {
        if sequence < self.next {
            return Err(Refusal::Used);
        }
        if self.held.contains(&sequence) {
            return Err(Refusal::Held);
        }
        if sequence > self.last(depth) {
            return Err(Refusal::Ahead);
        }
        Ok(())
    }

    /// Whether an envelope with that sequence is the account's next. One behind it waits: a node would refuse it.
    #[must_use]
    pub fn is_turn(&self, sequence: i64) -> bool {
        sequence <= self.next
    }

    /// Whether nobody could be applied while a row that has nothing alive keeps that sequence.
    #[must_use]
    pub fn blocks(sequence: i64, others: impl IntoIterator<Item = i64>) -> bool {
        others.into_iter().any(|other| other > sequence)
    }
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
