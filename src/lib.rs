//! Tender puts payments on the Stellar network exactly once per idempotency key.
//!
//! Modules in reading order:
//!
//! - [`domain`]: the rules, pure
//! - [`ledger`]: the rows, in SQL
//! - [`flow`]: use cases
//! - [`http`]: the API
//! - [`metrics`]: counters and gauges

pub mod domain;
pub mod flow;
pub mod http;
pub mod ledger;
pub mod metrics;
