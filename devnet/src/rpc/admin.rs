//! The endpoint that sets the node's faults: `POST /faults`, `GET /faults`, `DELETE /faults`.
//!
//! It is for whoever runs the simulation on the same machine: it exists only on the loopback interface, and takes no
//! request that a browser made for a web page.

use super::front::FrontEnd;
use super::http::json_response;
use crate::faults::{FaultPlan, MAX_PLAN_BYTES};
use poem::http::{StatusCode, header};
use poem::web::{Data, RemoteAddr};
use poem::{Body, Request, Response, RouteMethod, handler};
use serde_json::{Value, json};

/// The endpoint, or a refusal in its place.
pub(super) fn route(front: &FrontEnd, loopback: bool) -> RouteMethod {
    if !front.is_admin() {
        return RouteMethod::new();
    }
    if !loopback {
        return RouteMethod::new().post(refuse).get(refuse).delete(refuse);
    }
    RouteMethod::new().post(set).get(tell).delete(clear)
}

#[handler]
fn refuse() -> Response {
    let reason = "faults are set only where the network listens on the loopback interface";
    problem(StatusCode::FORBIDDEN, reason)
}

/// Why a request is not one of the person at this machine, if so.
fn foreign(client: &RemoteAddr, request: &Request) -> Option<Response> {
    let near = client
        .as_socket_addr()
        .is_some_and(|address| address.ip().to_canonical().is_loopback());
    if near && request.header(header::ORIGIN).is_none() {
        return None;
    }
    let reason = "faults are set only from this machine, and not from a web page";
    Some(problem(StatusCode::FORBIDDEN, reason))
}

#[handler]
async fn set(
    front: Data<&FrontEnd>,
    client: &RemoteAddr,
    request: &Request,
    body: Body,
) -> Response {
    if let Some(refusal) = foreign(client, request) {
        return refusal;
    }
    let Ok(text) = body.into_bytes_limit(MAX_PLAN_BYTES).await else {
        let reason = format!("a plan has at most {MAX_PLAN_BYTES} bytes");
        return problem(StatusCode::PAYLOAD_TOO_LARGE, &reason);
    };
    match FaultPlan::from_json(&text) {
        Ok(plan) => {
            front.node().set_faults(plan);
            answer(StatusCode::OK, &front.node().faults_json())
        }
        Err(error) => problem(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

#[handler]
fn tell(Data(front): Data<&FrontEnd>, client: &RemoteAddr, request: &Request) -> Response {
    foreign(client, request).unwrap_or_else(|| answer(StatusCode::OK, &front.node().faults_json()))
}

#[handler]
fn clear(Data(front): Data<&FrontEnd>, client: &RemoteAddr, request: &Request) -> Response {
    foreign(client, request).unwrap_or_else(|| {
        // What the plan did is told before it is forgotten.
        let report = front.node().faults_json();
        front.node().set_faults(FaultPlan::none());
        answer(StatusCode::OK, &report)
    })
}

fn answer(status: StatusCode, value: &Value) -> Response {
    json_response(status, "application/json", value)
}

fn problem(status: StatusCode, reason: &str) -> Response {
    json_response(
        status,
        "application/problem+json",
        &json!({
            "type": "about:blank",
            "title": status.canonical_reason().unwrap_or_default(),
            "status": status.as_u16(),
            "detail": reason,
        }),
    )
}
