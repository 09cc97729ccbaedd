//! A deterministic simulation: accepting, submitting, sending, reconciling, cancelling and requeueing over a simulated
//! network and a real ledger file, where a seed chooses each next step, fault and crash, and the promises are checked
//! after each of them.
//!
//! In one run of four all submissions share one account, with its sequences handed out one by one; in the others each
//! leases an account of its own.
//!
//! - `SIMULATION_SEEDS=10000` runs so many seeds, from `SIMULATION_FIRST` on; nextest lets it run with `--profile long`
//! - `SIMULATION_SEED=7` runs that one and tells what happens
#![cfg(feature = "devnet")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod chain;
mod chance;
mod fate;
mod front;
mod keys;
mod leaning;
#[path = "../stellar/net.rs"]
#[allow(dead_code, reason = "shared with the tests of the client")]
mod net;
mod place;
mod plot;
mod process;
mod promises;
mod real;
mod run;
mod schedule;
mod settling;
mod shared;
mod steps;
#[path = "../stellar/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the client")]
mod support;
mod view;
mod world;
#[cfg(feature = "planted-bugs")]
mod zoo;
