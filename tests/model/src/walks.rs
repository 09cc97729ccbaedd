//! Walks by chance, in worlds too wide to visit whole: everything goes wrong there, and more than once.

use std::time::Instant;

use stateright::{Checker, Expectation, Model, UniformChooser};

use crate::checker::{Bounds, Exploration, Protocol};
use crate::sound::{BUDGET, CALM};
use crate::world::Answer;

/// States that the walks of a world pass through.
const STATES: usize = 400_000;
/// The same walks every time.
const SEED: u64 = 20_261_201;

const WIDE: Bounds = Bounds {
    keys: 2,
    channels: 2,
    workers: 2,
    reconcilers: 2,
    ledgers: 12,
    lag: 2,
    crashes: 3,
    faults: 4,
    answers: &[
        Answer::TimeOut,
        Answer::FeeTooLow,
        Answer::TooLate,
        Answer::Refused,
    ],
    proxies: true,
    resends: 4,
    anew: true,
    failures: 2,
    drops: 2,
    wishes: 3,
    reads_apart: true,
    ..CALM
};

fn walk(name: &str, bounds: Bounds) {
    let exploration = Exploration {
        protocol: Protocol {
            bug: None,
            budget: BUDGET,
        },
        bounds,
    };
    let started = Instant::now();
    let checker = exploration
        .checker()
        .target_state_count(STATES)
        .spawn_simulation(SEED, UniformChooser)
        .join();
    println!(
        "{name}: walks through {} states, up to {} steps long, {:.1} s",
        checker.state_count(),
        checker.max_depth(),
        started.elapsed().as_secs_f64()
    );
    for property in checker.model().properties() {
        if property.expectation != Expectation::Always {
            continue;
        }
        if let Some(path) = checker.discovery(property.name) {
            let steps = path.into_actions();
            panic!("{name}: not in every state: {}: {steps:#?}", property.name);
        }
    }
}

#[test]
fn heavy_walks_where_everything_goes_wrong() {
    walk("two of everything", WIDE);
    let narrow = Bounds {
        keys: 1,
        channels: 1,
        ..WIDE
    };
    walk("one key", narrow);
}

#[test]
fn heavy_walks_among_foreign_transactions() {
    let bounds = Bounds {
        foreign: 2,
        stalls: true,
        short_history: true,
        ..WIDE
    };
    walk("two of everything, foreign transactions", bounds);
}
