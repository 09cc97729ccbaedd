//! What goes wrong on purpose, as a client sees it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod admin;
mod answers;
mod asking;
#[allow(dead_code, reason = "shared with the tests of the rules")]
#[path = "../rules/common.rs"]
mod common;
mod documented;
mod held;
mod index_lag;
mod lag;
mod ledgers;
mod losses;
mod persistence;
mod plans;
mod rules_hold;
mod sends;
#[allow(dead_code, reason = "shared with the tests of the interface")]
#[path = "../rpc/support.rs"]
mod support;
mod surge;
