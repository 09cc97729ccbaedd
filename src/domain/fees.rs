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
    demanded
        .checked_mul(FEE_BUMP_OPERATIONS)
        .filter(|bid| *bid <= ceiling)
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
    }

    #[test]
    fn a_first_bid_is_the_base_fee_within_the_ceiling() {
        assert_eq!(first_bid(100, 100_000), 100);
        assert_eq!(first_bid(200_000, 100_000), 100_000);
        assert_eq!(first_bid(i64::MAX, i64::MAX), i64::MAX);
    }

    #[test]
    fn a_demand_that_no_number_meets_is_waited_for_whatever_the_ceiling() {
        let refused = RefusedBid {
            operations: 1,
            required: i64::MAX,
        };
        assert_eq!(next_bid(refused, 100, None, i64::MAX), NextBid::Wait);
    }

    /// Fees of every size, the ends of the range among them.
    fn fee() -> impl Strategy<Value = i64> {
        prop_oneof![
            1..100_000_i64,
            i64::MAX / 2 - 2..=i64::MAX / 2 + 2,
            1..=i64::MAX,
            Just(i64::MAX)
        ]
    }

    proptest! {
        #[test]
        fn an_answer_to_a_refusal_meets_the_demand_within_the_ceiling(
            required in prop_oneof![fee(), any::<i64>()],
            operations in 0_i64..=3,
            inner in fee(),
            highest in prop::option::of(fee()),
            ceiling in fee(),
        ) {
            // In rates for each operation, multiplied out: a bump counts for two.
            let (demanded, counted) = (i128::from(required), i128::from(operations.max(1)));
            let meets = |bid: i64| {
                i128::from(bid) * counted >= demanded * 2 && i128::from(bid) >= i128::from(inner) * 2
            };
            match next_bid(RefusedBid { operations, required }, inner, highest, ceiling) {
                NextBid::Raise(bid) => {
                    prop_assert!(bid <= ceiling && meets(bid));
                    prop_assert!(!meets(bid - 2), "no more than rounding adds");
                    prop_assert!(highest.is_none_or(|highest| highest < bid));
                }
                NextBid::Repeat => prop_assert!(highest.is_some_and(meets)),
                NextBid::Wait => prop_assert!(!meets(ceiling - 1)),
            }
        }

        /// A node takes a bump in place of what it has of the pair for ten times its rate, and names the fee for that.
        #[test]
        fn a_bump_that_follows_the_refusal_takes_the_place_of_what_is_queued(
            queued in 1_i64..1_000_000,
            queued_operations in OPERATIONS..=FEE_BUMP_OPERATIONS,
            inner in 1_i64..1_000_000,
        ) {
            let demanded = 10 * queued * FEE_BUMP_OPERATIONS;
            let required = (demanded + queued_operations - 1) / queued_operations;
            let refused = RefusedBid { operations: FEE_BUMP_OPERATIONS, required };
            let NextBid::Raise(bid) = next_bid(refused, inner, None, i64::MAX) else {
                return Err(TestCaseError::fail("there is room for it"));
            };
            prop_assert!(bid * queued_operations >= demanded);
        }
    }
}
