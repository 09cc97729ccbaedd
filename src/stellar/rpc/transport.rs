//! JSON-RPC over HTTP, and what its failures mean.

use std::error::Error;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jsonrpsee::core::ClientError;
use jsonrpsee::core::client::ClientT;
use jsonrpsee::core::http_helpers::HttpError;
use jsonrpsee::http_client::transport::Error as TransportError;
use jsonrpsee::http_client::{HttpClient, HttpClientBuilder};
use serde::de::DeserializeOwned;

use crate::domain::classify::Fault;

use super::calls::{Calls, Method};
use super::wire::Params;

/// Largest request that the RPC takes.
const MAX_REQUEST_BYTES: u32 = 512 << 10;
/// Largest answer that is read. The largest asked for, a page of transactions, stays well below.
const MAX_ANSWER_BYTES: u32 = 10 << 20;
/// A node that does not take a connection by then is left for the next one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// An address is none of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadNode {
    /// No address.
    #[error("no RPC node is named")]
    None,
    /// Not an address that can be asked.
    #[error("RPC node {0} (counted from 1) has no http or https address")]
    Url(usize),
}

/// The nodes, of which one is asked until it no longer takes connections.
pub(super) struct Nodes {
    clients: Vec<HttpClient>,
    current: AtomicUsize,
    send_timeout: Duration,
    read_timeout: Duration,
    pub(super) calls: Calls,
}

impl Nodes {
    pub(super) fn new(
        urls: &[String],
        send_timeout: Duration,
        read_timeout: Duration,
    ) -> Result<Self, BadNode> {
        if urls.is_empty() {
            return Err(BadNode::None);
        }
        let longest = send_timeout.max(read_timeout);
        let client = |(index, url): (usize, &String)| {
            HttpClientBuilder::new()
                .max_request_size(MAX_REQUEST_BYTES)
                .max_response_size(MAX_ANSWER_BYTES)
                .connect_timeout(CONNECT_TIMEOUT.min(longest))
                .request_timeout(longest)
                .build(url)
                .map_err(|_| BadNode::Url(index + 1))
        };
        Ok(Self {
            clients: urls
                .iter()
                .enumerate()
                .map(client)
                .collect::<Result<_, _>>()?,
            current: AtomicUsize::new(0),
            send_timeout,
            read_timeout,
            calls: Calls::default(),
        })
    }

    /// Asks the current node, and the next one when it takes no connection. Each is asked once: nothing else is repeated
    /// here.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        params: Params,
    ) -> Result<T, Fault> {
        let first = self.current.load(Ordering::Relaxed);
        for offset in 0..self.clients.len() {
            let index = (first + offset) % self.clients.len();
            match self.ask(&self.clients[index], method, &params).await {
                Err(Fault::Connect) => {}
                answer => {
                    self.current.store(index, Ordering::Relaxed);
                    return answer;
                }
            }
        }
        Err(Fault::Connect)
    }

    /// The nodes, counted from 0.
    pub(super) fn indices(&self) -> Range<usize> {
        0..self.clients.len()
    }

    /// Asks that node once, and no other.
    pub(super) async fn call_one<T: DeserializeOwned>(
        &self,
        node: usize,
        method: Method,
        params: &Params,
    ) -> Result<T, Fault> {
        self.ask(&self.clients[node], method, params).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        client: &HttpClient,
        method: Method,
        params: &Params,
    ) -> Result<T, Fault> {
        self.calls.count(method);
        let timeout = match method {
            Method::SendTransaction => self.send_timeout,
            Method::GetTransaction
            | Method::GetTransactions
            | Method::GetLedgerEntries
            | Method::GetLatestLedger
            | Method::GetEvents
            | Method::GetHealth
            | Method::GetNetwork => self.read_timeout,
        };
        let request = client.request(method.as_str(), Params(params.0.clone()));
        let fault = match tokio::time::timeout(timeout, request).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => fault_of(&error),
            Err(_elapsed) => Fault::Timeout,
        };
        tracing::debug!(method = method.as_str(), fault = fault.code(), "no answer");
        Err(fault)
    }
}

/// What kind of no answer an error is.
fn fault_of(error: &ClientError) -> Fault {
    match error {
        ClientError::Call(error) => Fault::Rpc(error.code()),
        ClientError::RequestTimeout => Fault::Timeout,
        ClientError::Transport(error) => match error.downcast_ref() {
            Some(TransportError::Rejected { status_code }) => Fault::Http(*status_code),
            Some(TransportError::Http(HttpError::Stream(error))) => stream_fault(error.as_ref()),
            _ => Fault::Malformed,
        },
        // Invalid JSON, a missing field, the id of another request.
        _ => Fault::Malformed,
    }
}

/// The HTTP library hides the difference between its errors two sources deep.
fn stream_fault(error: &(dyn Error + 'static)) -> Fault {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(client) = error.downcast_ref::<hyper_util::client::legacy::Error>()
            && client.is_connect()
        {
            return Fault::Connect;
        }
        if let Some(http) = error.downcast_ref::<hyper::Error>() {
            return if http.is_parse() {
                Fault::Malformed
            } else {
                Fault::Reset
            };
        }
        next = error.source();
    }
    // Neither: the answer outgrew its limit.
    Fault::Malformed
}
