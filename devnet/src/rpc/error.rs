//! Errors as JSON-RPC 2.0 answers carry them.

use serde_json::{Value, json};

/// The body is not JSON.
pub const PARSE_ERROR: i64 = -32_700;
/// Not a request, or a ledger range or cursor outside the history window.
pub const INVALID_REQUEST: i64 = -32_600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32_601;
/// Parameters of the wrong type or form, bad XDR, a bad hash, or more than a limit allows.
pub const INVALID_PARAMS: i64 = -32_602;
/// The node could not do it, or is unhealthy.
pub const INTERNAL_ERROR: i64 = -32_603;

/// The error of one call; the HTTP status stays 200.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// One of the codes of this module.
    pub code: i64,
    /// What is wrong, for people.
    pub message: String,
    /// More about it: the name of an unknown method.
    pub data: Option<String>,
}

impl RpcError {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The body is not JSON.
    #[must_use]
    pub fn parse() -> Self {
        Self::new(PARSE_ERROR, "invalid JSON")
    }

    /// Not a request, or outside the history window.
    #[must_use]
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    /// No method of that name.
    #[must_use]
    pub fn method_not_found(name: &str) -> Self {
        Self {
            data: Some(name.chars().take(100).collect()),
            ..Self::new(METHOD_NOT_FOUND, "method not found")
        }
    }

    /// The parameters cannot be used.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// The node could not do it.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, message)
    }

    /// The `error` object of an answer.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.data {
            None => json!({"code": self.code, "message": self.message}),
            Some(data) => json!({"code": self.code, "message": self.message, "data": data}),
        }
    }
}
