//! The reconciler over a real ledger file, the real client and a simulated network whose nodes misbehave as told.
#![cfg(feature = "devnet")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod consumers;
mod faults;
mod incidents;
mod memory;
#[path = "../stellar/net.rs"]
#[allow(dead_code, reason = "shared with the tests of the client")]
mod net;
mod nodes;
mod set_back;
#[path = "../stellar/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the client")]
mod support;
mod world;
