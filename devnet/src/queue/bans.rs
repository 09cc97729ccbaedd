//! Envelopes the queue will not take for some ledgers.

use std::collections::{HashSet, VecDeque};
use stellar_xdr::Hash;

/// Ledgers a ban lasts.
pub const BAN_LEDGERS: usize = 10;

/// Banned envelopes, by the hash of their whole bytes, in one set for each ledger they were banned in.
#[derive(Debug)]
pub struct Bans {
    by_age: VecDeque<HashSet<Hash>>,
}

impl Default for Bans {
    fn default() -> Self {
        Self {
            by_age: std::iter::repeat_with(HashSet::new)
                .take(BAN_LEDGERS)
                .collect(),
        }
    }
}

impl Bans {
    /// Bans an envelope from now on.
    pub fn add(&mut self, bytes_hash: &Hash) {
        if let Some(newest) = self.by_age.front_mut() {
            newest.insert(bytes_hash.clone());
        }
    }

    /// Whether an envelope is banned.
    pub fn contains(&self, bytes_hash: &Hash) -> bool {
        self.by_age.iter().any(|set| set.contains(bytes_hash))
    }

    /// A ledger has closed: the oldest bans end.
    pub fn shift(&mut self) {
        self.by_age.pop_back();
        self.by_age.push_front(HashSet::new());
    }
}
