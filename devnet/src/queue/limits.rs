//! How much the queue holds, and who has to go for a better bid.

use crate::envelope::Submitted;
use crate::fees::{better_fee, compare_rates};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use stellar_xdr::{AccountId, Hash};

/// Ledgers' worth of operations the queue holds.
const LEDGERS: u64 = 2;

/// Operations of the imagined transaction that sets a floor; more than any real one has.
const FLOOR_OPERATIONS: u32 = 1000;

/// A queued transaction in the order of what it offers per operation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Offer {
    bid: i64,
    operations: u32,
    bytes_hash: Hash,
    source: AccountId,
}

impl Offer {
    fn of(tx: &Submitted) -> Self {
        Self {
            bid: tx.bid(),
            operations: tx.operation_count(),
            bytes_hash: tx.bytes_hash.clone(),
            source: tx.source().clone(),
        }
    }
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_rates(self.bid, self.operations, other.bid, other.operations)
            .then_with(|| self.bytes_hash.cmp(&other.bytes_hash))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Why the queue has no room for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// This bid, in stroops, would be enough.
    Needs(i64),
    /// No bid would help.
    Never,
}

/// Fills the queue up to its limit and remembers whom a better bid has driven out.
#[derive(Debug)]
pub struct Limiter {
    offers: BTreeSet<Offer>,
    operations: u64,
    capacity: u64,
    /// Bid and operations of the last transaction that had to go since the last close; newcomers must beat it.
    evicted: Option<(i64, u32)>,
}

impl Limiter {
    /// An empty queue on a network whose ledgers take `max_tx_set_ops` operations.
    pub fn new(max_tx_set_ops: u32) -> Self {
        Self {
            offers: BTreeSet::new(),
            operations: 0,
            capacity: LEDGERS * u64::from(max_tx_set_ops),
            evicted: None,
        }
    }

    /// The sources of the transactions that have to go for `new`, lowest bid first; `old` is the one it replaces.
    pub fn make_room(
        &self,
        new: &Submitted,
        old: Option<&Submitted>,
    ) -> Result<Vec<AccountId>, NoRoom> {
        let operations = new.operation_count();
        if let Some((bid, count)) = self.evicted
            && compare_rates(bid, count, new.bid(), operations) != Ordering::Less
        {
            return Err(NoRoom::Needs(better_fee(operations, bid, count)));
        }
        let freed = old.map_or(0, Submitted::operation_count);
        let added = u64::from(operations.saturating_sub(freed));
        if added > self.capacity {
            return Err(NoRoom::Never);
        }
        let mut excess = (self.operations + added).saturating_sub(self.capacity);
        let mut leaving = Vec::new();
        for offer in &self.offers {
            if excess == 0 {
                break;
            }
            if compare_rates(offer.bid, offer.operations, new.bid(), operations) != Ordering::Less {
                let needed = better_fee(operations, offer.bid, offer.operations);
                return Err(NoRoom::Needs(needed));
            }
            if offer.source == *new.source() {
                return Err(NoRoom::Never);
            }
            leaving.push(offer.source.clone());
            excess = excess.saturating_sub(u64::from(offer.operations));
        }
        Ok(leaving)
    }

    /// Whether a transaction of that many operations fits without anybody leaving.
    pub fn fits(&self, operations: u32) -> bool {
        self.operations + u64::from(operations) <= self.capacity
    }

    /// From now until the next close newcomers must beat this transaction's rate.
    pub fn raise_floor(&mut self, evicted: &Submitted) {
        self.evicted = Some((evicted.bid(), evicted.operation_count()));
    }

    /// From now until the next close newcomers must bid at least that many stroops per operation.
    pub fn set_floor(&mut self, min_bid: u32) {
        // So little below that it makes no difference to a transaction of any size.
        let just_below = i64::from(min_bid) * i64::from(FLOOR_OPERATIONS) - 1;
        self.evicted = Some((just_below, FLOOR_OPERATIONS));
    }

    /// A ledger has closed: the minimum fee is enough again.
    pub fn reset_floor(&mut self) {
        self.evicted = None;
    }

    /// Counts a transaction in.
    pub fn add(&mut self, tx: &Submitted) {
        if self.offers.insert(Offer::of(tx)) {
            self.operations += u64::from(tx.operation_count());
        }
    }

    /// Counts a transaction out.
    pub fn remove(&mut self, tx: &Submitted) {
        if self.offers.remove(&Offer::of(tx)) {
            self.operations -= u64::from(tx.operation_count());
        }
    }
}
