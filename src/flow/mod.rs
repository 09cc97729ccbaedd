//! One use case a file: load, decide, write, act.
//!
//! - [`accept`]: a request becomes a row, once per key
//! - [`withdraw`]: a row that was not sent is cancelled
//! - [`requeue`]: staff run a failed row again
//! - [`keys`]: API keys are made, listed, revoked and checked
//! - [`fields`], [`reason`]: reading requests with all their faults; why staff change something

pub mod accept;
pub mod fields;
pub mod keys;
pub mod reason;
pub mod requeue;
pub mod withdraw;
