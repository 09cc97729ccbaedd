//! Pure rules: no I/O, no clock, no randomness. Reading order:
//!
//! - [`status`], [`submission`], [`transition`]: states, events and the one function that decides
//! - [`classify`] and [`codes`]: what the network's answers mean
//! - [`plan`]: what the reconciler does about a held pair
//! - [`sequence`]: which sequence a submission gets where many share an account
//! - [`memory`]: what a ledger that was set back must wait for
//! - [`operation`], [`money`], [`key`], [`ids`]: the words of the field
//! - [`fees`], [`schedule`]: bids, priorities and lanes

pub mod classify;
pub mod codes;
pub mod fees;
pub mod ids;
pub mod key;
pub mod memory;
pub mod money;
pub mod operation;
pub mod plan;
pub mod schedule;
pub mod sequence;
pub mod status;
pub mod submission;
pub mod transition;
