//! The bug zoo: each planted bug is found within a bounded number of seeds. What would not find them finds nothing.

use tender::flow::planted::{Bug, plant};

use crate::real::setting;
use crate::run::{alone, run};

/// Seeds after which a bug counts as not found.
const SEEDS: u64 = 400;

fn find(bug: Bug) {
    let _alone = alone();
    plant(Some(bug));
    if let Some(seed) = setting("SIMULATION_SEED") {
        println!("{bug:?}: seed {seed}: {:?}", run(seed, true));
        return plant(None);
    }
    let found = (0..SEEDS).find_map(|seed| run(seed, false).err().map(|broken| (seed, broken)));
    plant(None);
    match found {
        Some((seed, broken)) => println!("{bug:?}: {} seeds: {broken}", seed + 1),
        None => panic!("{bug:?} is not found by {SEEDS} seeds"),
    }
}

macro_rules! zoo {
    ($($name:ident: $bug:ident,)*) => {
        $(
            #[test]
            fn $name() {
                find(Bug::$bug);
            }
        )*

        #[test]
        fn every_bug_has_its_test() {
            assert_eq!([$(Bug::$bug),*], Bug::ALL);
        }
    };
}

zoo! {
    a_payment_rebuilt_on_a_timeout_is_found: RebuiltOnTimeout,
    a_local_clock_that_decides_expiry_is_found: LocalClockExpires,
    not_found_that_means_failed_is_found: NotFoundIsFailed,
    a_lease_freed_on_a_timeout_is_found: LeaseFreedOnTimeout,
    a_send_before_its_record_is_found: SentBeforeRecorded,
    a_bump_of_a_new_inner_is_found: BumpOfANewInner,
    reconcilers_that_are_not_fenced_are_found: ReconcilersNotFenced,
    a_budget_that_is_taken_for_proof_is_found: BudgetIsProof,
    a_refusal_that_is_taken_for_proof_is_found: RefusalIsProof,
    not_found_that_means_foreign_is_found: NotFoundIsForeign,
    a_bump_that_moves_no_version_is_found: BumpMovesNoVersion,
    an_older_pair_that_settles_is_found: OlderPairSettles,
    a_sequence_that_is_reseeded_on_a_refusal_is_found: ReseededOnBadSequence,
    a_gap_that_is_skipped_is_found: GapIsSkipped,
}
