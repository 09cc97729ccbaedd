//! A simulated Stellar network: ledger rules, transaction queue, history and JSON-RPC.
//!
//! It knows nothing of the service that is tested against it. Reading order:
//!
//! - [`config`]: parameters of the network
//! - [`network`]: one node and its chain, driven by hand: submit, close, look up
//! - [`history`]: what closed ledgers contain

pub mod config;
pub mod history;
pub mod network;
