//! Tender puts payments on the Stellar network exactly once per idempotency key.
//!
//! Modules in reading order:
//!
//! - [`domain`]: the rules, pure
//! - [`flow`]: one use case a file
//! - [`http`]: the API
//! - [`ledger`], [`queue`], [`stellar`]: SQL, lanes and the network
//! - [`config`]: settings, read once and checked at start
//! - [`cli`]: the commands
//! - [`telemetry`], [`metrics`]: the log and what is counted

pub mod cli;
pub mod config;
pub mod domain;
pub mod flow;
pub mod http;
pub mod ledger;
pub mod metrics;
pub mod queue;
pub mod stellar;
pub mod telemetry;
