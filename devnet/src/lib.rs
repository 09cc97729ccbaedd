//! A simulated Stellar network: ledger rules, transaction queue, history and JSON-RPC.
//!
//! It knows nothing of the service that is tested against it. Reading order:
//!
//! - [`config`]: parameters of the network
//! - [`network`]: one node and its chain, driven by hand: submit, close, look up
//! - [`history`]: what closed ledgers contain
//! - [`node`]: a running node whose ledgers close on a timer or by hand, shared by its users
//! - [`store`]: a chain that survives a restart
//! - [`rpc`]: its JSON-RPC interface, in process and over HTTP
//! - [`friendbot`]: lumens for new accounts
//! - [`faults`]: what goes wrong on purpose
//! - [`replay`]: checks the network against traces recorded from a real node
//!
//! Inside, from an envelope's arrival to the ledger it ends in: `envelope` decodes it, `queue` decides whether it may
//! wait (`validate`, `signatures` and `fees` tell it), `network` closes a ledger with the best of what waits,
//! `transact` takes a transaction through it, `apply` has one file for each operation, `entries`, `sponsorship` and
//! `state` are what they change, `events` and `outcome` what they leave behind, `ledger` is the header around it.

mod apply;
pub mod config;
mod entries;
mod envelope;
mod events;
pub mod faults;
mod fees;
pub mod friendbot;
pub mod history;
mod ledger;
pub mod network;
pub mod node;
mod outcome;
mod pace;
mod past;
mod queue;
pub mod replay;
pub mod rpc;
mod signatures;
mod sponsorship;
mod state;
pub mod store;
mod transact;
mod validate;
mod xdr;
