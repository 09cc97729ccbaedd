//! The JSON-RPC interface of the network, with the names, types, limits and error codes of the real one.
//!
//! Methods are functions of the network and their parameters, one file for each family; [`call`] finds the right one.
//! `jsonrpc` reads requests and batches, `http` serves them and `connection` can cut a connection without an answer.
//!
//! Numbers that may pass 2^53 are strings and ledger sequences are numbers, as on the real network; so `createdAt` is a
//! string in `getTransaction` and a number in `getTransactions`.

mod admin;
mod close_meta;
mod connection;
mod cursor;
pub mod error;
mod event_filter;
mod events;
mod fee_stats;
mod front;
mod garble;
mod http;
mod jsonrpc;
mod ledger_entries;
mod ledgers;
mod params;
mod send_transaction;
mod status;
mod transactions;
mod view;

pub use error::RpcError;
pub use front::{Body, FrontEnd, Lost, MAX_REPLICAS, Reply};
pub use http::{serve, serve_front};
pub use send_transaction::SendManner;
pub use view::{IndexLag, Sight};

use crate::network::Network;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use view::View;

/// Largest body of an HTTP request, in bytes.
pub const MAX_BODY_BYTES: usize = 512 * 1024;

/// Most calls of one batch.
pub const MAX_BATCH: usize = 100;

macro_rules! methods {
    ($($variant:ident $name:literal)*) => {
        /// The methods of the interface.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Method {
            $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant,)*
        }

        impl Method {
            /// All methods.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name requests call it by.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

methods! {
    SendTransaction "sendTransaction"
    GetTransaction "getTransaction"
    GetTransactions "getTransactions"
    GetLedgers "getLedgers"
    GetLedgerEntries "getLedgerEntries"
    GetLatestLedger "getLatestLedger"
    GetFeeStats "getFeeStats"
    GetEvents "getEvents"
    GetHealth "getHealth"
    GetNetwork "getNetwork"
    GetVersionInfo "getVersionInfo"
}

impl Method {
    /// The method of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|method| method.name() == name)
    }
}

/// What a node knows besides its network.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Time since the last ledger closed.
    pub since_close: Duration,
    /// Where new accounts get lumens.
    pub friendbot_url: Option<String>,
    /// How it sees the network.
    pub sight: Sight,
    /// How it treats envelopes.
    pub manner: SendManner,
}

/// Answers one call.
///
/// # Errors
/// As the method says; the error is the `error` object of the answer.
pub fn call(
    network: &mut Network,
    surroundings: &Surroundings,
    method: Method,
    params: Value,
) -> Result<Value, RpcError> {
    let sight = &surroundings.sight;
    let view = |network| View::new(network, sight);
    match method {
        Method::SendTransaction => {
            send_transaction::send_transaction(network, sight, surroundings.manner, params)
        }
        Method::GetTransaction => transactions::get_transaction(&view(network), params),
        Method::GetTransactions => transactions::get_transactions(&view(network), params),
        Method::GetLedgers => ledgers::get_ledgers(&view(network), params),
        Method::GetLedgerEntries => ledger_entries::get_ledger_entries(&view(network), params),
        Method::GetLatestLedger => ledgers::get_latest_ledger(&view(network), params),
        Method::GetFeeStats => fee_stats::get_fee_stats(&view(network), params),
        Method::GetEvents => events::get_events(&view(network), params),
        Method::GetHealth => status::get_health(&view(network), surroundings, params),
        Method::GetNetwork => status::get_network(network, surroundings, params),
        Method::GetVersionInfo => status::get_version_info(network, params),
    }
}

pub(crate) use send_transaction::hash_of_params;
pub(crate) use transactions::asked_hash;
