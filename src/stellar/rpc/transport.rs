//! JSON-RPC over HTTP to one node, and what its failures mean.

use std::error::Error;
use std::time::Duration;

use jsonrpsee::core::ClientError;
use jsonrpsee::core::client::ClientT;
use jsonrpsee::core::http_helpers::HttpError;
use jsonrpsee::http_client::transport::Error as TransportError;
use jsonrpsee::http_client::{HttpClient, HttpClientBuilder};
use serde::de::DeserializeOwned;

use crate::domain::classify::Fault;

use super::calls::Method;
use super::wire::Params;

/// Largest request that the RPC takes.
const MAX_REQUEST_BYTES: u32 = 512 << 10;
/// Largest answer that is read. A page of transactions that outgrows it is asked for again in smaller pieces.
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

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// As callers see it.
    Fault(Fault),
    /// The answer outgrew what is read of one.
    TooLarge,
}

impl From<Fault> for NoAnswer {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<NoAnswer> for Fault {
    fn from(no_answer: NoAnswer) -> Self {
        match no_answer {
            NoAnswer::Fault(fault) => fault,
            NoAnswer::TooLarge => Self::Malformed,
        }
    }
}

/// One node.
pub(super) struct Node {
    client: HttpClient,
    send_timeout: Duration,
    read_timeout: Duration,
}

impl Node {
    /// A client of that address, or `None` where it is none.
    pub(super) fn new(url: &str, send_timeout: Duration, read_timeout: Duration) -> Option<Self> {
        let longest = send_timeout.max(read_timeout);
        let client = HttpClientBuilder::new()
            .max_request_size(MAX_REQUEST_BYTES)
            .max_response_size(MAX_ANSWER_BYTES)
            .connect_timeout(CONNECT_TIMEOUT.min(longest))
            .request_timeout(longest)
            .build(url)
            .ok()?;
        Some(Self {
            client,
            send_timeout,
            read_timeout,
        })
    }

    /// Asks once.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        params: &Params,
    ) -> Result<T, NoAnswer> {
        let timeout = if method.has_effect() {
            self.send_timeout
        } else {
            self.read_timeout
        };
        let request = self
            .client
            .request(method.as_str(), Params(params.0.clone()));
        let no_answer = match tokio::time::timeout(timeout, request).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => no_answer_of(&error),
            Err(_elapsed) => NoAnswer::Fault(Fault::Timeout),
        };
        let fault = Fault::from(no_answer).code();
        tracing::debug!(method = method.as_str(), fault, "no answer");
        Err(no_answer)
    }
}

/// What kind of no answer an error is.
fn no_answer_of(error: &ClientError) -> NoAnswer {
    let fault = match error {
        ClientError::Call(error) => Fault::Rpc(error.code()),
        ClientError::RequestTimeout => Fault::Timeout,
        ClientError::Transport(error) => match error.downcast_ref() {
            Some(TransportError::Rejected { status_code }) => Fault::Http(*status_code),
            Some(TransportError::Http(HttpError::TooLarge)) => return NoAnswer::TooLarge,
            Some(TransportError::Http(HttpError::Stream(error))) => {
                return stream_fault(error.as_ref());
            }
            _ => Fault::Malformed,
        },
        // Invalid JSON, a missing field, the id of another request.
        _ => Fault::Malformed,
    };
    NoAnswer::Fault(fault)
}

/// The HTTP library hides the difference between its errors two sources deep.
fn stream_fault(error: &(dyn Error + 'static)) -> NoAnswer {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(client) = error.downcast_ref::<hyper_util::client::legacy::Error>()
            && client.is_connect()
        {
            return Fault::Connect.into();
        }
        if let Some(http) = error.downcast_ref::<hyper::Error>() {
            return if http.is_parse() {
                Fault::Malformed.into()
            } else {
                Fault::Reset.into()
            };
        }
        next = error.source();
    }
    // Neither: it came in pieces that outgrew the limit together.
    NoAnswer::TooLarge
}
