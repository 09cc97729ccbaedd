//! The RPC client against a server that fails as told, and against the simulated network.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod answers;
#[cfg(feature = "devnet")]
mod devnet;
mod fresh;
#[cfg(feature = "devnet")]
mod net;
mod network;
mod nodes;
mod reads;
mod scans;
mod support;
mod transport;
