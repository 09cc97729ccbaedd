//! Fee arithmetic: minimum fees, rates per operation, replacement by fee, and what a full ledger charges.

use crate::entries::LedgerParams;
use crate::envelope::{Submitted, inner_operation_count};
use std::cmp::Ordering;

/// How many times the old rate a fee-bump must bid to replace a pending transaction.
pub const FEE_MULTIPLIER: i128 = 10;

/// The least an envelope must bid, in stroops.
pub fn minimum_fee(operations: u32, base_fee: u32) -> i64 {
    i64::from(operations.max(1)) * i64::from(base_fee)
}

/// The least the transaction inside `tx` would have to bid on its own, in stroops.
pub fn inner_minimum_fee(tx: &Submitted, ledger: &LedgerParams) -> i64 {
    minimum_fee(inner_operation_count(tx.inner()), ledger.base_fee)
}

/// Compares two bids by what they offer per operation, without rounding.
pub fn compare_rates(bid_a: i64, ops_a: u32, bid_b: i64, ops_b: u32) -> Ordering {
    let a = i128::from(bid_a) * i128::from(ops_b);
    let b = i128::from(bid_b) * i128::from(ops_a);
    a.cmp(&b)
}

/// Whether an envelope bids at least that many stroops per operation.
pub fn offers_at_least(tx: &Submitted, min_bid: u32) -> bool {
    compare_rates(tx.bid(), tx.operation_count(), i64::from(min_bid), 1) != Ordering::Less
}

/// The smallest bid of `operations` operations whose rate is above that of `bid` for `ops`, in stroops.
pub fn better_fee(operations: u32, bid: i64, ops: u32) -> i64 {
    let equal = i128::from(bid) * i128::from(operations) / i128::from(ops.max(1));
    i64::try_from(equal + 1).unwrap_or(i64::MAX)
}

/// The bid a fee-bump needs to replace `old`, in stroops, when `new` does not reach it.
pub fn replacement_shortfall(new: &Submitted, old: &Submitted) -> Option<i64> {
    let old_ops = i128::from(old.operation_count().max(1));
    let new_ops = i128::from(new.operation_count().max(1));
    let needed = i128::from(old.bid()) * new_ops * FEE_MULTIPLIER;
    if i128::from(new.bid()) * old_ops >= needed {
        return None;
    }
    Some(i64::try_from(divide_up(needed, old_ops)).unwrap_or(i64::MAX))
}

/// The bid a fee-bump needs so as not to offer less per operation than its inner transaction, in stroops, when it
/// does not reach it.
pub fn bump_shortfall(tx: &Submitted, ledger: &LedgerParams) -> Option<i64> {
    let inner_minimum = i128::from(inner_minimum_fee(tx, ledger));
    let outer_minimum = i128::from(minimum_fee(tx.operation_count(), ledger.base_fee));
    let needed = i128::from(tx.inner_bid()) * outer_minimum;
    if i128::from(tx.bid()) * inner_minimum >= needed {
        return None;
    }
    Some(i64::try_from(divide_up(needed, inner_minimum)).unwrap_or(i64::MAX))
}

fn divide_up(value: i128, by: i128) -> i128 {
    (value + by - 1) / by
}

/// What a ledger takes of the waiting transactions.
#[derive(Debug, Default)]
pub struct Selection<T> {
    /// The transactions it includes, best rate first.
    pub included: Vec<T>,
    /// What an operation costs in it, in stroops.
    pub base_fee: i64,
}

/// Fills a ledger of `max_ops` operations with the best rates; one that does not fit is passed over for smaller ones.
///
/// When something was passed over, everybody pays the lowest rate that got in, rounded down; otherwise the minimum.
pub fn select<T: AsRef<Submitted>>(
    mut waiting: Vec<T>,
    max_ops: u32,
    base_fee: u32,
) -> Selection<T> {
    waiting.sort_by(|a, b| {
        let (a, b) = (a.as_ref(), b.as_ref());
        compare_rates(b.bid(), b.operation_count(), a.bid(), a.operation_count())
            .then_with(|| a.bytes_hash.cmp(&b.bytes_hash))
    });
    let mut left = max_ops;
    let mut lowest: Option<i64> = None;
    let mut someone_waits = false;
    let mut included = Vec::new();
    for tx in waiting {
        let operations = tx.as_ref().operation_count();
        if operations > left {
            someone_waits = true;
            continue;
        }
        left -= operations;
        let rate = tx.as_ref().bid() / i64::from(operations.max(1));
        lowest = Some(lowest.map_or(rate, |l| l.min(rate)));
        included.push(tx);
    }
    let minimum = i64::from(base_fee);
    Selection {
        included,
        base_fee: if someone_waits {
            lowest.unwrap_or(minimum)
        } else {
            minimum
        },
    }
}

/// What an included transaction pays at the ledger's base fee, in stroops: never more than its bid.
pub fn fee_at(tx: &Submitted, base_fee: i64) -> i64 {
    base_fee
        .saturating_mul(i64::from(tx.operation_count().max(1)))
        .min(tx.bid())
}
