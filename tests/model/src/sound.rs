//! The protocol as it is: no state breaks a rule, and every state ends well once nothing goes wrong any more.
//!
//! Each exploration visits every state of its world. Together they are some ten million; `cargo nextest run --workspace
//! --test model --no-capture` shows how many, how deep and how long.

use std::time::Instant;

use stateright::{Checker, Expectation, Model};
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

/// Small, so that a row spends it within few ledgers.
pub const BUDGET: Budget = Budget {
    transient_failures: 1,
    claims: 2,
};

/// Visits every state, and says how many distinct ones there are.
fn explore(name: &str, bounds: Bounds) -> usize {
    let exploration = Exploration {
        protocol: Protocol {
            bug: None,
            budget: BUDGET,
        },
        bounds,
    };
    let started = Instant::now();
    let checker = exploration.checker().threads(2).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!(
        "{name}: {states} distinct states, {} steps deep, {:.1} s",
        checker.max_depth(),
        started.elapsed().as_secs_f64()
    );
    for property in checker.model().properties() {
        let discovery = checker.discovery(property.name);
        match (&property.expectation, discovery) {
            (Expectation::Always, None) | (Expectation::Sometimes, Some(_)) => {}
            (Expectation::Sometimes, None) => panic!("{name}: never: {}", property.name),
            (Expectation::Always | Expectation::Eventually, path) => panic!(
                "{name}: not in every state: {}: {:#?}",
                property.name,
                path.map(stateright::Path::into_actions)
            ),
        }
    }
    states
}

#[test]
fn heavy_two_of_everything() {
    let bounds = Bounds {
        keys: 2,
        workers: 2,
        reconcilers: 2,
        crashes: 1,
        faults: 1,
        answers: &[Answer::TimeOut],
        resends: 1,
        ..CALM
    };
    let states = explore("two of everything, one channel", bounds);
    assert!(states > 1_000_000, "{states}");
}

#[test]
fn heavy_two_channels() {
    let bounds = Bounds {
        keys: 2,
        channels: 2,
        workers: 2,
        reconcilers: 2,
        ledgers: 2,
        faults: 1,
        answers: &[Answer::TimeOut],
        resends: 1,
        ..CALM
    };
    explore("two of everything", bounds);
}

#[test]
fn heavy_answers_of_every_kind() {
    let bounds = Bounds {
        workers: 2,
        reconcilers: 2,
        lag: 1,
        crashes: 1,
        faults: 2,
        answers: &[
            Answer::TimeOut,
            Answer::FeeTooLow,
            Answer::TooLate,
            Answer::Refused,
        ],
        proxies: true,
        resends: 1,
        ..CALM
    };
    explore("answers of every kind, proxies, fee-bumps", bounds);
}

#[test]
fn heavy_signed_again() {
    let bounds = Bounds {
        reconcilers: 2,
        lag: 2,
        crashes: 1,
        faults: 1,
        answers: &[Answer::TimeOut],
        resends: 2,
        anew: true,
        ..CALM
    };
    explore("several envelopes of a pair, lagging reads", bounds);
}

#[test]
fn heavy_reads_apart() {
    let bounds = Bounds {
        workers: 2,
        reconcilers: 2,
        lag: 1,
        crashes: 1,
        faults: 1,
        answers: &[Answer::TimeOut],
        resends: 1,
        anew: true,
        reads_apart: true,
        ..CALM
    };
    explore("rows read before their attempts", bounds);
}

#[test]
fn heavy_foreign_transactions() {
    let bounds = Bounds {
        keys: 2,
        foreign: 1,
        lag: 1,
        stalls: true,
        short_history: true,
        ..CALM
    };
    explore("foreign transactions, short history, one channel", bounds);
    let bounds = Bounds {
        channels: 2,
        reconcilers: 2,
        ledgers: 3,
        foreign: 2,
        failures: 1,
        stalls: true,
        ..CALM
    };
    explore("foreign transactions, two channels", bounds);
}

#[test]
fn heavy_staff() {
    let bounds = Bounds {
        workers: 2,
        reconcilers: 2,
        crashes: 1,
        failures: 1,
        wishes: 2,
        ..CALM
    };
    explore("staff and a crash", bounds);
    let bounds = Bounds {
        keys: 2,
        failures: 1,
        drops: 1,
        wishes: 2,
        ..CALM
    };
    explore("staff and a queue that drops", bounds);
}
