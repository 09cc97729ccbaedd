//! Tender puts payments on the Stellar network exactly once per idempotency key.
//!
//! Modules in reading order:
//!
//! - [`domain`]: the rules, pure
//! - [`queue`], [`stellar`]: lanes and the network
//! - [`config`]: settings, read once and checked at start
//! - [`cli`]: the commands
//! - [`telemetry`]: the log

pub mod cli;
pub mod config;
pub mod domain;
pub mod queue;
pub mod stellar;
pub mod telemetry;
