//! JSON-RPC 2.0 requests, alone or in a batch, and their answers.

use super::error::RpcError;
use super::{MAX_BATCH, Method};
use crate::faults::{Fault, Loss};
use crate::node::DevNode;
use serde_json::{Value, json};

/// What becomes of the body of a request.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// The answer, or the answers of a batch.
    Answer(Value),
    /// Nothing to answer: only notifications.
    Nothing,
    /// An answer that gets lost on purpose.
    Lost(Loss),
}

/// Does what the calls of a body ask, in their order. A lost answer of one call loses those of its whole batch.
pub fn respond(node: &DevNode, body: &[u8], friendbot_url: Option<&str>) -> Outcome {
    let respond_one = |request| {
        Responder {
            node,
            friendbot_url,
        }
        .respond(request)
    };
    match serde_json::from_slice(body) {
        Err(_) => Outcome::Answer(error(&Value::Null, &RpcError::parse())),
        Ok(Value::Array(requests)) => respond_all(requests, respond_one),
        Ok(request) => match respond_one(request) {
            Ok(Some(answer)) => Outcome::Answer(answer),
            Ok(None) => Outcome::Nothing,
            Err(loss) => Outcome::Lost(loss),
        },
    }
}

fn respond_all(
    requests: Vec<Value>,
    respond_one: impl Fn(Value) -> Result<Option<Value>, Loss>,
) -> Outcome {
    if requests.is_empty() {
        return Outcome::Answer(error(
            &Value::Null,
            &RpcError::invalid_request("empty request batch"),
        ));
    }
    if requests.len() > MAX_BATCH {
        return Outcome::Answer(error(
            &Value::Null,
            &RpcError::invalid_request(format!("a batch has at most {MAX_BATCH} calls")),
        ));
    }
    // All calls are made before a lost answer counts: only the way back is broken.
    let results: Vec<_> = requests.into_iter().map(respond_one).collect();
    let answers: Result<Vec<_>, Loss> = results.into_iter().collect();
    match answers {
        Err(loss) => Outcome::Lost(loss),
        Ok(answers) => {
            let answers: Vec<Value> = answers.into_iter().flatten().collect();
            if answers.is_empty() {
                Outcome::Nothing
            } else {
                Outcome::Answer(Value::Array(answers))
            }
        }
    }
}

struct Responder<'a> {
    node: &'a DevNode,
    friendbot_url: Option<&'a str>,
}

/// A request that is well formed.
struct Request {
    /// Absent in a notification.
    id: Option<Value>,
    method: String,
    params: Value,
}

impl Responder<'_> {
    fn respond(&self, request: Value) -> Result<Option<Value>, Loss> {
        let request = match read_request(request) {
            Ok(request) => request,
            Err((id, reason)) => return Ok(Some(error(&id, &reason))),
        };
        let result = self.call(&request.method, request.params)?;
        Ok(request.id.map(|id| match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(reason) => error(&id, &reason),
        }))
    }

    fn call(&self, method: &str, params: Value) -> Result<Result<Value, RpcError>, Loss> {
        let Some(method) = Method::named(method) else {
            return Ok(Err(RpcError::method_not_found(method)));
        };
        self.node.count(method);
        let fault = self.node.decide_fault(method, &params);
        let answer = || {
            let url = self.friendbot_url.map(str::to_owned);
            self.node.answer(method, params, url)
        };
        match fault {
            None => Ok(answer()),
            Some(Fault::AnswerLostBeforeAccept(loss)) => Err(loss),
            Some(Fault::AnswerLostAfterAccept(loss)) => {
                // Nobody will see what the network said.
                let _ = answer();
                Err(loss)
            }
        }
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
