//! Tender puts payments on the Stellar network exactly once per idempotency key.
//!
//! Modules in reading order:
//!
//! - [`domain`]: the rules, pure

pub mod domain;
