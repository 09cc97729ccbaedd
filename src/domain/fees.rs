//! Bids: what an envelope offers for its place in a ledger. All fees are in stroops and for the whole transaction.

/// Operations of the transactions built here.
pub const OPERATIONS: i64 = 1;
/// A fee-bump counts as one operation more than its inner transaction (CAP-15).
pub const FEE_BUMP_OPERATIONS: i64 = OPERATIONS + 1;

/// The bid of a plain transaction at that base fee, within the ceiling.
#[must_use]
pub fn first_bid(base_fee: i64, ceiling: i64) -> i64 {
    base_fee.saturating_mul(OPERATIONS).min(ceiling)
}

/// A bid that was refused as too low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedBid {
    /// Operations the refused envelope counted for.
    pub operations: i64,
    /// The full fee that would have been enough for it.
    pub required: i64,
}

/// What to answer a refusal with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextBid {
    /// A fee-bump of so many stroops.
    Raise(i64),
    /// The highest bid made so far: it is enough, the refusal was of an earlier one.
    Repeat,
    /// Nothing: even the ceiling would be refused, so wait until the demand falls.
    Wait,
}

/// Answers a refusal. `highest` is the highest bid of a fee-bump made for the pair so far.
#[must_use]
pub fn next_bid(
    refused: RefusedBid,
    inner_fee: i64,
    highest: Option<i64>,
    ceiling: i64,
) -> NextBid {
    match raised_bid(refused, inner_fee, ceiling) {
        None => NextBid::Wait,
        Some(bid) if highest.is_some_and(|highest| highest >= bid) => NextBid::Repeat,
        Some(bid) => NextBid::Raise(bid),
    }
}

/// The bid of a fee-bump: at least the demanded rate and the inner transaction's own rate. `None` above the ceiling.
fn raised_bid(refused: RefusedBid, inner_fee: i64, ceiling: i64) -> Option<i64> {
    // Rounded up: a rate a fraction too low is refused.
    let rate = |fee: i64, operations: i64| fee / operations + i64::from(fee % operations > 0);
    let demanded =
        rate(refused.required, refused.operations.max(1)).max(rate(inner_fee, OPERATIONS));
    let bid = demanded.saturating_mul(FEE_BUMP_OPERATIONS);
    (bid <= ceiling).then_some(bid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bump_offers_the_demanded_rate_for_one_operation_more() {
        let plain = RefusedBid {
            operations: 1,
            required: 1001,
        };
        assert_eq!(raised_bid(plain, 100, 100_000), Some(2002));
        let bump = RefusedBid {
            operations: 2,
            required: 2000,
        };
        assert_eq!(raised_bid(bump, 100, 100_000), Some(2000));
        assert_eq!(
            raised_bid(bump, 5_000, 100_000),
            Some(10_000),
            "never below the inner rate"
        );
    }

    #[test]
    fn a_bid_that_was_made_already_is_repeated_and_not_made_anew() {
        let refused = RefusedBid {
            operations: 1,
            required: 1000,
        };
        let next = |highest| next_bid(refused, 100, highest, 100_000);
        assert_eq!(next(None), NextBid::Raise(2000));
        assert_eq!(next(Some(1999)), NextBid::Raise(2000));
        assert_eq!(next(Some(2000)), NextBid::Repeat);
        assert_eq!(next_bid(refused, 100, Some(50), 1999), NextBid::Wait);
    }

    #[test]
    fn no_bid_passes_the_ceiling() {
        assert_eq!(
            raised_bid(
                RefusedBid {
                    operations: 1,
                    required: 60_000
                },
                100,
                100_000
            ),
            None
        );
        assert_eq!(first_bid(200_000, 100_000), 100_000);
    }

    proptest! {
        #[test]
        fn raised_bids_meet_the_demand_within_the_ceiling(required in 1_i64..1_000_000_000, operations in 1_i64..=2, inner in 0_i64..1_000_000, ceiling in 0_i64..10_000_000) {
            if let Some(bid) = raised_bid(RefusedBid { operations, required }, inner, ceiling) {
                prop_assert!(bid <= ceiling);
                prop_assert!(bid * operations >= required * FEE_BUMP_OPERATIONS);
                prop_assert!(bid >= inner * FEE_BUMP_OPERATIONS);
            }
        }
    }
}
