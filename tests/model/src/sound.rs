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
    proxies: false,
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
    let checker = exploration
        .checker()
        .threads(1)
        .target_state_count(TRY)
        .spawn_bfs()
        .join();
    println!(
        "{name}: {} distinct states, depth {}, {:.1} s",
        checker.unique_state_count(),
        checker.max_depth(),
        started.elapsed().as_secs_f64()
    );
    for (property, path) in checker.discoveries() {
        println!("{property}: {:?}", path.into_actions());
    }
    checker.unique_state_count()
}

const TRY: usize = 3_000_000;

#[test]
fn probe_a() {
    explore(
        "two of everything",
        Bounds {
            keys: 2,
            channels: 1,
            workers: 2,
            reconcilers: 2,
            ledgers: 3,
            crashes: 1,
            faults: 1,
            answers: &[Answer::TimeOut],
            resends: 1,
            ..CALM
        },
        false,
    );
}
#[test]
fn probe_b() {
    explore(
        "two channels",
        Bounds {
            keys: 2,
            channels: 2,
            workers: 2,
            reconcilers: 1,
            ledgers: 2,
            crashes: 0,
            faults: 1,
            answers: &[Answer::TimeOut],
            resends: 1,
            ..CALM
        },
        false,
    );
}
#[test]
fn probe_c() {
    explore(
        "answers",
        Bounds {
            workers: 2,
            reconcilers: 2,
            ledgers: 5,
            crashes: 1,
            faults: 2,
            proxies: true,
            lag: 1,
            answers: &[
                Answer::TimeOut,
                Answer::FeeTooLow,
                Answer::TooLate,
                Answer::Refused,
            ],
            resends: 1,
            ..CALM
        },
        false,
    );
}
#[test]
fn probe_d() {
    explore(
        "anew",
        Bounds {
            workers: 2,
            reconcilers: 2,
            ledgers: 6,
            crashes: 1,
            faults: 1,
            anew: true,
            lag: 2,
            reads_apart: true,
            answers: &[Answer::TimeOut],
            resends: 2,
            ..CALM
        },
        false,
    );
}
#[test]
fn probe_e() {
    explore(
        "foreign",
        Bounds {
            channels: 2,
            workers: 1,
            reconcilers: 2,
            ledgers: 5,
            foreign: 2,
            lag: 1,
            stalls: true,
            short_history: true,
            failures: 1,
            ..CALM
        },
        true,
    );
}
#[test]
fn probe_f() {
    explore(
        "staff",
        Bounds {
            keys: 2,
            channels: 1,
            workers: 2,
            reconcilers: 2,
            ledgers: 4,
            wishes: 2,
            failures: 1,
            ..CALM
        },
        true,
    );
}
