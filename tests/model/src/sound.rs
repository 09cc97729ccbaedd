//! The protocol as it is: no state breaks a rule.

use std::time::Instant;

use stateright::{Checker, Model};
use tender::domain::submission::Budget;

use crate::checker::{Bounds, Exploration, Protocol};
use crate::world::Answer;

/// Nothing goes wrong, in the smallest world.
pub const CALM: Bounds = Bounds {
    keys: 1,
    channels: 1,
    workers: 1,
    reconcilers: 1,
    ledgers: 4,
    lag: 0,
    crashes: 0,
    faults: 0,
    answers: &[],
    resends: 0,
    anew: false,
    failures: 0,
    foreign: 0,
    drops: 0,
    wishes: 0,
    stalls: false,
    short_history: false,
    reads_apart: false,
};

pub const BUDGET: Budget = Budget {
    transient_failures: 1,
    claims: 2,
};

fn explore(name: &str, bounds: Bounds, settling: bool) -> usize {
    let exploration = Exploration {
        protocol: Protocol {
            bug: None,
            budget: BUDGET,
        },
        bounds,
        settling,
    };
    let started = Instant::now();
    let checker = exploration.checker().threads(2).spawn_bfs().join();
    println!(
        "{name}: {} distinct states, depth {}, {:.1} s",
        checker.unique_state_count(),
        checker.max_depth(),
        started.elapsed().as_secs_f64()
    );
    for (property, path) in checker.discoveries() {
        println!("{property}: {:#?}", path.into_actions());
    }
    checker.unique_state_count()
}

#[test]
fn probe() {
    explore("calm", CALM, true);
    explore(
        "some",
        Bounds {
            reconcilers: 2,
            faults: 1,
            answers: &[Answer::TimeOut, Answer::FeeTooLow, Answer::Refused],
            resends: 1,
            crashes: 1,
            ledgers: 5,
            ..CALM
        },
        true,
    );
}
