//! The node over HTTP: JSON-RPC at `/` and `/rpc`, the friendbot at `/friendbot`.

use super::MAX_BODY_BYTES;
use super::connection::{Connections, Gate};
use super::jsonrpc::{Outcome, respond};
use crate::faults::{LONGEST_HANG, Loss};
use crate::friendbot::FriendbotError;
use crate::node::DevNode;
use poem::error::ReadBodyError;
use poem::http::{StatusCode, header};
use poem::web::{Data, Query, RemoteAddr};
use poem::{Body, EndpointExt as _, Request, Response, Route, Server, get, handler, post};
use serde::Deserialize;
use serde_json::{Value, json};
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::net::TcpListener;

/// How long open requests may take to end after the shutdown began.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// How long a connection may be silent; longer than any answer takes, on purpose or not.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Longest `Host` header that is repeated in the friendbot's URL.
const MAX_HOST: usize = 255;

/// Serves a node on a bound listener until `shutdown` resolves. The node itself goes on; [`DevNode::shutdown`] stops it.
///
/// # Errors
/// The listener has no local address.
pub async fn serve(
    node: DevNode,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = Connections::default();
    let gate = Gate::new(listener, connections.clone())?;
    let routes = Route::new()
        .at("/", post(rpc))
        .at("/rpc", post(rpc))
        .at("/friendbot", get(friendbot))
        .data(node)
        .data(connections);
    Server::new_with_acceptor(gate)
        .name("devnet")
        .idle_timeout(IDLE_TIMEOUT)
        .run_with_graceful_shutdown(routes, shutdown, Some(SHUTDOWN_GRACE))
        .await
}

#[handler]
async fn rpc(
    node: Data<&DevNode>,
    connections: Data<&Connections>,
    client: &RemoteAddr,
    request: &Request,
    body: Body,
) -> Response {
    let body = match body.into_bytes_limit(MAX_BODY_BYTES).await {
        Ok(body) => body,
        Err(ReadBodyError::PayloadTooLarge) => return too_large(),
        Err(_) => return StatusCode::BAD_REQUEST.into(),
    };
    let friendbot_url = friendbot_url(request);
    match respond(node.0, &body, friendbot_url.as_deref()) {
        Outcome::Answer(answer) => json_response(StatusCode::OK, "application/json", &answer),
        Outcome::Nothing => StatusCode::NO_CONTENT.into(),
        Outcome::Lost(loss) => lose(loss, node.0, connections.0, client).await,
    }
}

/// The friendbot under the name the client knows this server by.
fn friendbot_url(request: &Request) -> Option<String> {
    let host = request.header(header::HOST)?;
    (host.len() <= MAX_HOST).then(|| format!("http://{host}/friendbot"))
}

/// Lets an answer get lost.
async fn lose(
    loss: Loss,
    node: &DevNode,
    connections: &Connections,
    client: &RemoteAddr,
) -> Response {
    match loss {
        Loss::GatewayTimeout => {
            return Response::builder()
                .status(StatusCode::GATEWAY_TIMEOUT)
                .body("request exceeded the time limit");
        }
        Loss::Reset => {}
        Loss::Hang => {
            tokio::select! {
                () = tokio::time::sleep(LONGEST_HANG) => {}
                () = node.stopped() => {}
            }
        }
    }
    connections.cut(client);
    // Never sent: writing it fails on the cut connection.
    StatusCode::GATEWAY_TIMEOUT.into()
}

fn too_large() -> Response {
    Response::builder()
        .status(StatusCode::PAYLOAD_TOO_LARGE)
        .body(format!("the body must not exceed {MAX_BODY_BYTES} bytes"))
}

#[derive(Deserialize)]
struct FriendbotQuery {
    addr: Option<String>,
}

#[handler]
async fn friendbot(node: Data<&DevNode>, Query(query): Query<FriendbotQuery>) -> Response {
    let address = query.addr.unwrap_or_default();
    match node.fund(&address).await {
        Ok(funded) => json_response(
            StatusCode::OK,
            "application/json",
            &json!({
                "hash": hex::encode(funded.hash.0),
                "ledger": funded.ledger,
                "successful": true,
            }),
        ),
        Err(error) => problem(&error),
    }
}

fn problem(error: &FriendbotError) -> Response {
    let (status, title) = match error {
        FriendbotError::BadAddress | FriendbotError::AlreadyFunded | FriendbotError::NoFunds => {
            (StatusCode::BAD_REQUEST, "Bad Request")
        }
        FriendbotError::Busy | FriendbotError::Stopped => {
            (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable")
        }
        FriendbotError::NotIncluded => (StatusCode::GATEWAY_TIMEOUT, "Timeout"),
    };
    json_response(
        status,
        "application/problem+json",
        &json!({
            "type": "about:blank",
            "title": title,
            "status": status.as_u16(),
            "detail": error.to_string(),
        }),
    )
}

fn json_response(status: StatusCode, content_type: &'static str, value: &Value) -> Response {
    Response::builder()
        .status(status)
        .content_type(content_type)
        .body(value.to_string())
}
