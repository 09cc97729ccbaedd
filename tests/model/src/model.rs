//! The exactly-once protocol, explored state by state.
//!
//! What decides is the service's own: [`tender::domain::transition::next`], [`tender::domain::plan::assess`],
//! [`tender::domain::plan::conclude`] and [`tender::domain::classify::after_send`]. What they are asked by, and what is
//! done with the answer, is modelled as small as it can be: a ledger of rows under compare-and-set, workers and
//! reconcilers that read something and later act on it, a chain that takes any transaction that ever left a process.
//!
//! - [`world`]: what a state is made of; [`symmetry`]: which states are one
//! - [`ledger`], [`chain`]: one SQL transaction, one closed ledger
//! - [`worker`], [`reconciler`], [`look_up`], [`staff`]: what the processes do
//! - [`checker`], [`step`], [`properties`], [`calm`]: what may happen, and what must hold
//! - [`sound`], [`walks`], [`broken`]: the explorations, of the protocol as it is and with bugs planted
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

mod bugs;
mod calm;
mod chain;
mod checker;
mod ledger;
mod look_up;
mod properties;
mod reconciler;
mod staff;
mod step;
mod symmetry;
mod worker;
mod world;

mod broken;
mod sound;
mod walks;
