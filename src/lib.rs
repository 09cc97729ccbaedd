//! Tender puts payments on the Stellar network exactly once per idempotency key.
//!
//! Modules in reading order:
//!
//! - [`domain`]: the rules, pure
//! - [`stellar`]: the network

pub mod domain;
pub mod stellar;
