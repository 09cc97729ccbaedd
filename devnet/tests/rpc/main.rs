//! The node as its clients see it: over HTTP, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

#[allow(dead_code, reason = "shared with the tests of the rules")]
#[path = "../rules/common.rs"]
mod common;
mod errors;
mod events;
mod faults;
mod friendbot;
mod jsonrpc;
mod ledgers;
mod limits;
mod node;
mod shapes;
mod support;
mod transactions;
