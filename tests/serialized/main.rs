//! All submissions share one account (`SEQUENCE_STRATEGY=serialized`): a real Redis and a real ledger file, the real
//! client, and a simulated network that closes a ledger when told to and loses answers when told to.
#![cfg(feature = "devnet")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod crowd;
mod gaps;
mod lies;
mod line;
#[path = "../stellar/net.rs"]
#[allow(dead_code, reason = "shared with the tests of the client")]
mod net;
#[path = "../support/mod.rs"]
mod servers;
#[path = "../stellar/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the client")]
mod support;
#[path = "../reconcile/world.rs"]
#[allow(dead_code, reason = "shared with the tests of the reconciler")]
mod world;
