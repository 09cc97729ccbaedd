//! The Stellar network: envelopes, keys, events and the RPC client. The only module that names XDR, soroban-client and
//! JSON-RPC. It decides nothing: it turns the domain's words into bytes, and the network's answers into the domain's words.
//!
//! Reading order:
//!
//! - [`rpc`]: asks nodes, and keeps every way of getting no answer apart
//! - [`envelope`], [`fee_bump`]: build and sign
//! - [`inspect`]: read an envelope back, to know a transaction of ours by its tag and payload
//! - [`effect`]: the event a payment leaves in the ledger
//! - [`outcome`]: results, decoded to the domain's codes
//! - [`funding`]: create accounts
//! - [`keyring`], [`signer`], [`channels`], [`network`]: keys and the network they sign for

pub mod channels;
mod convert;
pub mod effect;
pub mod envelope;
pub mod fee_bump;
pub mod funding;
pub mod inspect;
pub mod keyring;
pub mod network;
pub mod outcome;
#[cfg(test)]
mod recorded;
pub mod rpc;
pub mod signer;
