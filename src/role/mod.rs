//! Long-running roles. Each runs until its shutdown token is cancelled, and finishes what it has begun.
//!
//! - [`api`], [`worker`], [`reconciler`]: the processes of a deployment
//! - [`embedded`]: all of them in one process, over SQLite, memory and a simulated network
//! - [`dev`], [`demo`]: that stack to work with, and to be convinced by

pub mod api;
#[cfg(feature = "devnet")]
pub mod demo;
#[cfg(feature = "devnet")]
pub mod dev;
#[cfg(feature = "devnet")]
pub mod embedded;
pub mod readiness;
pub mod reconciler;
mod signals;
pub mod worker;

pub use signals::shutdown_on_signal;
