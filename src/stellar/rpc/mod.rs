//! Asks Stellar RPC nodes. Every way of getting no answer is a [`Fault`] of its own, and none of them means failure.

mod accounts;
mod calls;
mod consumer;
mod events;
mod history;
mod ledger;
mod lookup;
mod nodes;
mod send;
mod standing;
mod transport;
mod wire;

use std::sync::Arc;
use std::time::Duration;

pub use accounts::Page;
pub use calls::Method;
pub use consumer::{Consumed, Consumer};
pub use events::{EffectPage, EventCursor, Landed, Watch};
pub use history::History;
pub use ledger::Seen;
pub use lookup::Lookup;
pub use send::Sent;
pub use transport::BadNode;

use crate::domain::classify::Fault;
use crate::stellar::network::NetworkId;

use nodes::{Answer, Nodes};
use wire::Params;

/// A client of one or more nodes of one network. Cloning shares its connections and what it knows of the nodes.
///
/// The first node is preferred. One that fails is left for the next for some seconds, one that lags until it has caught
/// up, and one implausibly ahead of all others is not believed. A send is never repeated, unless no connection was made;
/// a read is repeated once. Of several nodes each has to tell the network's passphrase before it is asked anything, and
/// one of another network never is: what it would say of accounts and ledgers must not be believed.
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
        let nodes = Nodes::new(urls, network.passphrase(), send_timeout, read_timeout)?;
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

    /// A client of the node that is asked first now, and of that one alone: for what takes several calls.
    fn staying(&self) -> Self {
        Self {
            pinned: self.pinned.or_else(|| self.nodes.preferred()),
            ..self.clone()
        }
    }

    /// Asks, and has `read` make what is wanted of the answer: an answer it refuses counts against the node.
    async fn call<T: Answer, R>(
        &self,
        method: Method,
        params: Params,
        read: impl Fn(T) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let call = self.nodes.call(self.pinned, method, &params, read);
        Ok(call.await?)
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
        self.call(
            Method::GetNetwork,
            Params::none(),
            |answer: wire::Network| Ok(answer.passphrase),
        )
        .await
    }
}
