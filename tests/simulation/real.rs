//! The service as it is keeps its promises, whatever the seed.

use std::time::Instant;

use crate::run::{alone, run};
use crate::shared::Shared;

/// Seeds of a usual test run.
const SEEDS: u64 = 300;
/// After so many it is told how far it is.
const TOLD: u64 = 1000;

#[allow(
    clippy::disallowed_methods,
    reason = "settings of the tests are not the service's"
)]
pub fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number")),
    )
}

#[test]
fn the_service_keeps_its_promises() {
    let _alone = alone();
    if let Some(seed) = setting("SIMULATION_SEED") {
        let ran = run(seed, true);
        println!("seed {seed}: {ran:x?}");
        assert!(ran.is_ok(), "seed {seed}: {ran:?}");
        return;
    }
    let first = setting("SIMULATION_FIRST").unwrap_or(0);
    let seeds = setting("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let started = Instant::now();
    for seed in first..first + seeds {
        if let Err(broken) = run(seed, false) {
            panic!("{broken}\nagain: SIMULATION_SEED={seed} {AGAIN}");
        }
        let done = seed + 1 - first;
        if done.is_multiple_of(TOLD) {
            println!("{done} of {seeds} seeds in {:.1?}", started.elapsed());
        }
    }
    let took = started.elapsed();
    println!("{seeds} seeds from {first} on in {took:.1?}");
}

const AGAIN: &str = "cargo nextest run -p tender --test simulation --no-capture keeps_its_promises";

#[test]
fn a_seed_means_the_same_again() {
    let _alone = alone();
    assert!((0..8).any(|seed| Shared::any(seed).is_some()));
    for seed in 0..8 {
        let first = run(seed, false);
        assert!(first.is_ok(), "seed {seed}: {first:?}");
        assert_eq!(run(seed, false), first, "seed {seed}");
    }
    assert_ne!(run(1, false), run(2, false));
}
