//! One use case a file: load, decide, write, act.
//!
//! - [`accept`]: a request becomes a row, once per key
//! - [`relay`]: what callers wrote to the outbox becomes rows too; [`intent`] is what one must be
//! - [`feed`]: due rows become jobs
//! - [`allocate`]: sequences of one account are handed out, where that is the strategy
//! - [`submit`]: a job becomes a recorded envelope; [`send`] sends recorded bytes
//! - [`reconcile`]: rows become settled, by evidence; [`chain`] is the time they are judged by
//! - [`memory`]: a ledger that was set back is noticed; [`recover`] has the chain tell what it has forgotten
//! - [`provision`]: channel accounts come to exist
//! - [`backoff`]: delays between tries
//! - [`fresh`]: accounts as the node that is furthest on has them
//! - [`withdraw`]: a row that was not sent is cancelled
//! - [`requeue`]: staff run a failed row again
//! - [`keys`]: API keys are made, listed, revoked and checked
//! - [`json`], [`fields`], [`reason`]: reading requests with all their faults; why staff change something

pub mod accept;
pub mod allocate;
pub mod backoff;
pub mod chain;
pub mod feed;
pub mod fields;
pub mod fresh;
pub mod intent;
pub mod json;
pub mod keys;
pub mod memory;
#[cfg(feature = "planted-bugs")]
pub mod planted;
pub mod provision;
pub mod reason;
pub mod reconcile;
pub mod recover;
pub mod relay;
pub mod requeue;
pub mod send;
pub mod submit;
pub mod withdraw;
