//! The protocol with a bug planted: each has a counterexample, or the model could not tell right from wrong. A world is
//! as small as the bug allows, so that the trace is short.

use std::time::Instant;

use stateright::{Checker, Model};
use tender::domain::submission::Budget;

use crate::bugs::Bug;
use crate::checker::{Action, Bounds, Exploration, Protocol};
use crate::properties::{CANCELLED, FAILED, HELD_ONCE, ONE_EFFECT};
use crate::sound::{BUDGET, CALM};
use crate::world::{Answer, Plan};

/// Steps after which a bug counts as not found.
const DEEPEST: usize = 40;

/// Plants the bug and gives the shortest way to a state that breaks the rule.
fn breaks(bug: Bug, rule: &'static str, bounds: Bounds) -> Vec<Action> {
    breaks_within(bug, rule, BUDGET, bounds)
}

fn breaks_within(bug: Bug, rule: &'static str, budget: Budget, bounds: Bounds) -> Vec<Action> {
    let started = Instant::now();
    // The checker keeps the last counterexample of many; going deeper step by step, the first one found is the shortest.
    for depth in 2..DEEPEST {
        let exploration = Exploration {
            protocol: Protocol {
                bug: Some(bug),
                budget,
            },
            bounds,
        };
        let checker = exploration
            .checker()
            .target_max_depth(depth)
            .spawn_bfs()
            .join();
        let Some(path) = checker.discovery(rule) else {
            continue;
        };
        let (steps, states) = (path.into_actions(), checker.unique_state_count());
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{bug:?}: {} steps, {states} states, {seconds:.1} s: not \"{rule}\"",
            steps.len()
        );
        for step in &steps {
            println!("    {step:?}");
        }
        return steps;
    }
    panic!("{bug:?} is not found")
}

#[test]
fn rebuilding_on_a_time_out_pays_twice() {
    let bounds = Bounds {
        faults: 1,
        answers: &[Answer::TimeOut],
        ..CALM
    };
    breaks(Bug::RebuildOnTimeOut, ONE_EFFECT, bounds);
}

#[test]
fn a_local_clock_fails_what_is_paid_later() {
    breaks(Bug::LocalClock, FAILED, CALM);
}

#[test]
fn a_hash_that_is_not_found_is_no_failure() {
    let bounds = Bounds { lag: 1, ..CALM };
    breaks(Bug::NotFoundMeansFailed, ONE_EFFECT, bounds);
}

#[test]
fn a_lease_that_ends_by_itself_is_held_twice() {
    let bounds = Bounds {
        keys: 2,
        faults: 1,
        answers: &[Answer::TimeOut],
        ..CALM
    };
    breaks(Bug::LeaseFreedOnTimeOut, HELD_ONCE, bounds);
}

#[test]
fn what_is_sent_before_it_is_recorded_is_cancelled_and_paid() {
    let bounds = Bounds {
        crashes: 1,
        wishes: 1,
        ..CALM
    };
    breaks(Bug::SentBeforeRecorded, CANCELLED, bounds);
}

#[test]
fn a_fee_bump_of_a_new_inner_pays_twice() {
    let bounds = Bounds {
        faults: 1,
        answers: &[Answer::FeeTooLow],
        resends: 1,
        ..CALM
    };
    breaks(Bug::BumpOfNewInner, ONE_EFFECT, bounds);
}

#[test]
fn reconcilers_that_compare_no_version_fail_what_is_paid_later() {
    let bounds = Bounds {
        reconcilers: 2,
        ledgers: 5,
        ..CALM
    };
    breaks(Bug::NotFenced, FAILED, bounds);
}

#[test]
fn a_spent_budget_proves_nothing() {
    breaks(Bug::BudgetMeansFailed, FAILED, CALM);
}

/// The copy that is alive is a reconciler's: the worker's own was refused and went nowhere.
#[test]
fn a_refusal_of_one_send_says_nothing_of_another() {
    let bounds = Bounds {
        faults: 1,
        answers: &[Answer::Refused],
        resends: 1,
        ..CALM
    };
    let path = breaks(Bug::RefusalMeansFailed, FAILED, bounds);
    let refused = |one: &Action| matches!(one, Action::Send(_, false, Answer::Refused));
    let resent = |one: &Action| matches!(one, Action::Act(_, Plan::Resend(_), _));
    assert!(path.iter().any(refused) && path.iter().any(resent));
}

#[test]
fn a_consumer_that_is_not_found_is_not_foreign() {
    let bounds = Bounds {
        channels: 2,
        lag: 1,
        ..CALM
    };
    breaks(Bug::NotFoundMeansForeign, ONE_EFFECT, bounds);
}

#[test]
fn an_envelope_recorded_in_silence_is_buried_alive() {
    let bounds = Bounds {
        reconcilers: 2,
        resends: 1,
        anew: true,
        ..CALM
    };
    let budget = Budget {
        transient_failures: 0,
        ..BUDGET
    };
    breaks_within(Bug::RecordingKeepsVersion, FAILED, budget, bounds);
}

#[test]
fn the_failure_of_an_older_pair_says_nothing_of_this_one() {
    let bounds = Bounds {
        lag: 1,
        failures: 1,
        ..CALM
    };
    let budget = Budget {
        transient_failures: 2,
        ..BUDGET
    };
    breaks_within(Bug::OlderPairSettles, ONE_EFFECT, budget, bounds);
}

#[test]
fn snapshots_of_different_ledgers_prove_nothing_together() {
    let bounds = Bounds { lag: 2, ..CALM };
    let budget = Budget {
        transient_failures: 0,
        ..BUDGET
    };
    breaks_within(Bug::MixedSnapshots, FAILED, budget, bounds);
}
