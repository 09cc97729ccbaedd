//! The node over HTTP: JSON-RPC at `/` and `/rpc`, the friendbot at `/friendbot`, its faults at `/faults`.

use super::MAX_BODY_BYTES;
use super::admin;
use super::connection::{Connections, Gate};
use super::front::{Body as ReplyBody, FrontEnd, Lost};
use crate::faults::LONGEST_HANG;
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
    serve_front(FrontEnd::new(node), listener, shutdown).await
}

/// Serves a front end on a bound listener until `shutdown` resolves. The endpoint for faults is there only if the front end
/// has it and the listener is on the loopback interface.
///
/// # Errors
/// The listener has no local address.
pub async fn serve_front(
    front: FrontEnd,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = Connections::default();
    let loopback = listener.local_addr()?.ip().is_loopback();
    let gate = Gate::new(listener, connections.clone())?;
    let routes = Route::new()
        .at("/", post(rpc))
        .at("/rpc", post(rpc))
        .at("/friendbot", get(friendbot))
        .at("/faults", admin::route(&front, loopback))
        .data(front)
        .data(connections);
    Server::new_with_acceptor(gate)
        .name("devnet")
        .idle_timeout(IDLE_TIMEOUT)
        .run_with_graceful_shutdown(routes, shutdown, Some(SHUTDOWN_GRACE))
        .await
}

#[handler]
async fn rpc(
    front: Data<&FrontEnd>,
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
    let reply = front.reply(&body, friendbot_url.as_deref());
    if !reply.delay.is_zero() {
        wait(front.node(), reply.delay).await;
    }
    match reply.body {
        ReplyBody::Answer(answer) => json_response(StatusCode::OK, "application/json", &answer),
        ReplyBody::Nothing => StatusCode::NO_CONTENT.into(),
        ReplyBody::Text(text) => Response::builder()
            .content_type("application/json")
            .body(text),
        ReplyBody::Lost(lost) => lose(lost, front.node(), connections.0, client).await,
    }
}

/// The friendbot under the name the client knows this server by.
fn friendbot_url(request: &Request) -> Option<String> {
    let host = request.header(header::HOST)?;
    (host.len() <= MAX_HOST).then(|| format!("http://{host}/friendbot"))
}

/// Lets time pass, but not beyond the node's end.
async fn wait(node: &DevNode, time: Duration) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = node.stopped() => {}
    }
}

/// Lets an answer get lost.
async fn lose(
    lost: Lost,
    node: &DevNode,
    connections: &Connections,
    client: &RemoteAddr,
) -> Response {
    match lost {
        Lost::Status(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::GATEWAY_TIMEOUT);
            return Response::builder()
                .status(status)
                .body(status.canonical_reason().unwrap_or_default());
        }
        Lost::Reset => {}
        Lost::Hang => wait(node, LONGEST_HANG).await,
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
async fn friendbot(front: Data<&FrontEnd>, Query(query): Query<FriendbotQuery>) -> Response {
    let address = query.addr.unwrap_or_default();
    match front.node().fund(&address).await {
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

pub(super) fn json_response(
    status: StatusCode,
    content_type: &'static str,
    value: &Value,
) -> Response {
    Response::builder()
        .status(status)
        .content_type(content_type)
        .body(value.to_string())
}
