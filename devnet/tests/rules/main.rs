//! The network's rules, tried one by one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;
mod conservation;
mod hashes;
mod preconditions;
mod queue;
mod reserves;
mod signers;
mod throughput;
mod trust;
