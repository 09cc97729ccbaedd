//! Tender puts payments on the Stellar network exactly once per idempotency key.
//!
//! Modules in reading order:
//!
//! - [`domain`]: the rules, pure
//! - [`queue`]: hints to the workers that a submission is due, in memory or on Redis

pub mod domain;
pub mod queue;
