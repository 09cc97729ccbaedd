//! A simulated Stellar network: ledger rules, transaction queue, history and JSON-RPC.
//!
//! It knows nothing of the service that is tested against it. Reading order:
//!
//! - [`config`]: parameters of the network
//! - [`network`]: one node and its chain, driven by hand: submit, close, look up
//! - [`history`]: what closed ledgers contain
//! - [`replay`]: checks the network against traces recorded from a real node

mod apply;
pub mod config;
mod entries;
mod envelope;
mod events;
mod fees;
pub mod history;
mod ledger;
pub mod network;
mod outcome;
mod queue;
pub mod replay;
mod signatures;
mod sponsorship;
mod state;
mod transact;
mod validate;
mod xdr;
