//! JSON-RPC 2.0 requests, alone or in a batch, and their answers.

use super::MAX_BATCH;
use super::error::RpcError;
use super::front::{Body, Called, Lost, Reply};
use super::garble::Garble;
use serde_json::{Value, json};
use std::time::Duration;

/// What became of one request: its answer, none for a notification.
struct Done {
    delay: Duration,
    answer: Result<Option<Value>, Lost>,
    garbled: Option<Garble>,
}

/// Does what the calls of a body ask, in their order. What goes wrong with one call's answer does with those of its whole
/// batch.
pub fn respond(body: &[u8], mut call: impl FnMut(&str, Value) -> Called) -> Reply {
    let (done, is_batch) = match serde_json::from_slice(body) {
        Err(_) => return at_once(&RpcError::parse()),
        Ok(Value::Array(requests)) if requests.is_empty() => {
            return at_once(&RpcError::invalid_request("empty request batch"));
        }
        Ok(Value::Array(requests)) if requests.len() > MAX_BATCH => {
            let reason = format!("a batch has at most {MAX_BATCH} calls");
            return at_once(&RpcError::invalid_request(reason));
        }
        // All calls are made before a lost answer counts: only the way back is broken.
        Ok(Value::Array(requests)) => {
            let done: Vec<Done> = requests
                .into_iter()
                .map(|request| respond_one(request, &mut call))
                .collect();
            (done, true)
        }
        Ok(request) => (vec![respond_one(request, &mut call)], false),
    };
    let delay = done.iter().map(|done| done.delay).max();
    let garbled = done.iter().find_map(|done| done.garbled);
    let answers: Result<Vec<_>, Lost> = done.into_iter().map(|done| done.answer).collect();
    let body = match answers {
        Err(lost) => Body::Lost(lost),
        Ok(answers) => {
            let mut answers: Vec<Value> = answers.into_iter().flatten().collect();
            match (answers.len(), is_batch) {
                (0, _) => Body::Nothing,
                (_, true) => garble(garbled, Value::Array(answers)),
                (_, false) => garble(garbled, answers.swap_remove(0)),
            }
        }
    };
    Reply {
        delay: delay.unwrap_or_default(),
        body,
    }
}

fn at_once(reason: &RpcError) -> Reply {
    Reply {
        delay: Duration::ZERO,
        body: Body::Answer(error(&Value::Null, reason)),
    }
}

fn garble(garbled: Option<Garble>, answer: Value) -> Body {
    match garbled {
        None => Body::Answer(answer),
        Some(garble) => Body::Text(garble.text(&answer)),
    }
}

/// A request that is well formed.
struct Request {
    /// Absent in a notification.
    id: Option<Value>,
    method: String,
    params: Value,
}

fn respond_one(request: Value, call: &mut impl FnMut(&str, Value) -> Called) -> Done {
    let request = match read_request(request) {
        Ok(request) => request,
        Err((id, reason)) => {
            return Done {
                delay: Duration::ZERO,
                answer: Ok(Some(error(&id, &reason))),
                garbled: None,
            };
        }
    };
    let called = call(&request.method, request.params);
    let answer = called.result.map(|result| {
        request.id.map(|id| match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(reason) => error(&id, &reason),
        })
    });
    Done {
        delay: called.delay,
        answer,
        garbled: called.garbled,
    }
}

/// The request, or what to answer instead of it and to which id.
fn read_request(request: Value) -> Result<Request, (Value, RpcError)> {
    let Value::Object(mut fields) = request else {
        let reason = RpcError::invalid_request("a request must be an object");
        return Err((Value::Null, reason));
    };
    let id = match fields.remove("id") {
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            let reason = RpcError::invalid_request("the id must be a string or a number");
            return Err((Value::Null, reason));
        }
        id => id,
    };
    let refuse = |reason: &str| {
        let id = id.clone().unwrap_or(Value::Null);
        Err((id, RpcError::invalid_request(reason)))
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse("invalid version marker: jsonrpc must be \"2.0\"");
    }
    let Some(Value::String(method)) = fields.remove("method") else {
        return refuse("the method must be a string");
    };
    let params = fields.remove("params").unwrap_or(Value::Null);
    Ok(Request { id, method, params })
}

fn error(id: &Value, reason: &RpcError) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": reason.to_json()})
}
