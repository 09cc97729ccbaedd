//! Tender puts payments on the Stellar network exactly once per idempotency key.
//!
//! Modules in reading order:
//!
//! - [`config`]: settings, read once at start, every fault reported at once
//! - [`telemetry`]: the log
//! - [`cli`]: the commands of the `tender` program

pub mod cli;
pub mod config;
pub mod telemetry;
