//! The service as it is keeps its promises, whatever the seed.

use std::time::Instant;

use crate::run::{alone, run};

/// Seeds of a usual test run.
const SEEDS: u64 = 300;

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
    }
    let took = started.elapsed();
    println!("{seeds} seeds from {first} on in {took:.1?}");
}

const AGAIN: &str = "cargo nextest run -p tender --test simulation --no-capture keeps_its_promises";

#[test]
fn a_seed_means_the_same_again() {
    let _alone = alone();
    for seed in 0..8 {
        let first = run(seed, false);
        assert!(first.is_ok(), "seed {seed}: {first:?}");
        assert_eq!(run(seed, false), first, "seed {seed}");
    }
    assert_ne!(run(1, false), run(2, false));
}
