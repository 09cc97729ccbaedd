//! The HTTP contract, over real HTTP and a real SQLite ledger.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

mod access;
mod bad_input;
mod bad_payloads;
mod errors;
mod in_flight;
mod paging;
mod probes;
mod push;
mod service;
mod staff;
mod status;
mod support;
