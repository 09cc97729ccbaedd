//! Tender puts payments on the Stellar network exactly once per idempotency key.
//!
//! Modules in reading order:
//!
//! - [`domain`]: the rules, pure
//! - [`flow`]: one use case a file
//! - [`http`]: the API
//! - [`ledger`], [`queue`], [`stellar`]: SQL, lanes and the network
//! - [`role`], [`app`]: long-running roles, and how their parts come together
//! - [`config`]: settings, read once and checked at start
//! - [`cli`]: the commands
//! - [`outbox`]: for callers that have a transaction of their own in the ledger's database
//! - [`telemetry`], [`metrics`]: the log and what is counted
//! - [`failpoint`]: where crash tests make a process die

#[macro_use]
pub mod failpoint;

pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod flow;
pub mod http;
pub mod ledger;
pub mod metrics;
pub mod outbox;
pub mod queue;
pub mod role;
pub mod stellar;
pub mod telemetry;
