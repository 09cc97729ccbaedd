//! Asks Stellar RPC nodes. Every way of getting no answer is a [`Fault`] of its own, and none of them means failure.

mod accounts;
mod calls;
mod consumer;
mod events;
mod ledger;
mod lookup;
mod send;
mod transport;
mod wire;

use std::sync::Arc;
use std::time::Duration;

pub use accounts::Page;
pub use calls::Method;
pub use consumer::{Consumed, Consumer};
pub use events::{EffectPage, EventCursor, Landed, Watch};
pub use ledger::Seen;
pub use lookup::Lookup;
pub use send::Sent;
pub use transport::BadNode;

use serde::de::DeserializeOwned;

use crate::domain::classify::Fault;
use crate::stellar::network::NetworkId;

use transport::Nodes;
use wire::Params;

/// A client of one or more nodes of one network. Cloning shares its connections.
#[derive(Clone)]
pub struct Rpc {
    nodes: Arc<Nodes>,
    network: NetworkId,
    /// The only node to ask, counted from 0.
    pinned: Option<usize>,
}

impl Rpc {
    /// A client of those nodes. Nothing is asked yet.
    ///
    /// # Errors
    /// [`BadNode`] without an address, or for one that is no `http` or `https` address.
    pub fn new(
        network: NetworkId,
        urls: &[String],
        send_timeout: Duration,
        read_timeout: Duration,
    ) -> Result<Self, BadNode> {
        let nodes = Nodes::new(urls, send_timeout, read_timeout)?;
        Ok(Self {
            nodes: Arc::new(nodes),
            network,
            pinned: None,
        })
    }

    /// A client of each node, in the order configured, which asks that node alone. Connections and counters are shared.
    #[must_use]
    pub fn each_node(&self) -> Vec<Self> {
        let pinned_to = |node| Self {
            pinned: Some(node),
            ..self.clone()
        };
        self.nodes.indices().map(pinned_to).collect()
    }

    async fn call<T: DeserializeOwned>(&self, method: Method, params: Params) -> Result<T, Fault> {
        match self.pinned {
            Some(node) => self.nodes.call_one(node, method, &params).await,
            None => self.nodes.call(method, params).await,
        }
    }

    /// Calls made so far, by method; tries at further nodes count.
    #[must_use]
    pub fn calls(&self) -> Vec<(Method, u64)> {
        self.nodes.calls.counts()
    }

    /// Passphrase of the nodes' network: it must be the one that signatures are made for.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer.
    pub async fn passphrase(&self) -> Result<String, Fault> {
        let answer: wire::Network = self.call(Method::GetNetwork, Params::none()).await?;
        Ok(answer.passphrase)
    }
}
