//! Errors as RFC 9457 problems: one code each, one place that knows its status and title.

use poem::http::StatusCode;
use poem_openapi::registry::{MetaHeader, MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type;
use poem_openapi::{Enum, Object};

use crate::flow::fields::Fault;
use crate::ledger::LedgerError;

/// Media type of every error.
pub const CONTENT_TYPE: &str = "application/problem+json";
/// Seconds after which a caller may try again when something the service needs is down.
const RETRY_SECONDS: u64 = 1;

/// What went wrong, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[oai(rename = "ProblemCode", rename_all = "snake_case")]
pub enum Code {
    /// The request is malformed in a way that has no code of its own.
    BadRequest,
    /// The body is not JSON, holds a member twice, or is nested too deeply.
    InvalidJson,
    /// A parameter of the path or the query is not what it must be.
    InvalidParameter,
    /// Neither `Idempotency-Key` nor `key_parts` was sent.
    MissingIdempotencyKey,
    /// `Idempotency-Key` cannot be a key, or was sent more than once.
    InvalidIdempotencyKey,
    /// `Idempotency-Key` and `key_parts` name different keys.
    IdempotencyKeyMismatch,
    /// No API key, or not a valid one.
    Unauthenticated,
    /// The API key lacks the scope.
    MissingScope,
    /// Browsers of that origin may not ask.
    OriginNotAllowed,
    /// Nothing is there.
    NotFound,
    /// The method is not known there.
    MethodNotAllowed,
    /// The body did not arrive in time.
    RequestTimeout,
    /// Only pending transactions can be cancelled.
    NotCancellable,
    /// Only failed transactions can be requeued.
    NotFailed,
    /// An envelope of the transaction could still be applied, or nobody knows whether one was.
    OutcomeUnknown,
    /// A transaction of the key succeeded: it never runs again.
    AlreadyEffective,
    /// Others kept changing the transaction meanwhile.
    Busy,
    /// The body's length must be announced.
    LengthRequired,
    /// The body is too large.
    PayloadTooLarge,
    /// The body is not sent as JSON.
    UnsupportedMediaType,
    /// The body is JSON but no valid request.
    InvalidPayload,
    /// The key was used for another request before.
    IdempotencyKeyReused,
    /// Too many requests of this API key.
    RateLimited,
    /// A fault of the service.
    Internal,
    /// The ledger cannot be reached. Nothing was written.
    LedgerUnavailable,
    /// The ledger's answer was lost: the request may have been written.
    CommitUnknown,
    /// Something the service needs is not ready.
    NotReady,
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest
            | Self::InvalidJson
            | Self::InvalidParameter
            | Self::MissingIdempotencyKey
            | Self::InvalidIdempotencyKey
            | Self::IdempotencyKeyMismatch => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::MissingScope | Self::OriginNotAllowed => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::NotCancellable
            | Self::NotFailed
            | Self::OutcomeUnknown
            | Self::AlreadyEffective
            | Self::Busy => StatusCode::CONFLICT,
            Self::LengthRequired => StatusCode::LENGTH_REQUIRED,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::InvalidPayload | Self::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::LedgerUnavailable | Self::CommitUnknown | Self::NotReady => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::BadRequest => "Bad request",
            Self::InvalidJson => "Invalid JSON",
            Self::InvalidParameter => "Invalid parameter",
            Self::MissingIdempotencyKey => "Idempotency key missing",
            Self::InvalidIdempotencyKey => "Invalid idempotency key",
            Self::IdempotencyKeyMismatch => "Two different idempotency keys",
            Self::Unauthenticated => "API key missing or invalid",
            Self::MissingScope => "Scope missing",
            Self::OriginNotAllowed => "Origin not allowed",
            Self::NotFound => "Not found",
            Self::MethodNotAllowed => "Method not allowed",
            Self::RequestTimeout => "Request timed out",
            Self::NotCancellable => "Cannot be cancelled",
            Self::NotFailed => "Has not failed",
            Self::OutcomeUnknown => "Outcome unknown",
            Self::AlreadyEffective => "Already effective",
            Self::Busy => "Changed meanwhile",
            Self::LengthRequired => "Length required",
            Self::PayloadTooLarge => "Body too large",
            Self::UnsupportedMediaType => "Unsupported media type",
            Self::InvalidPayload => "Invalid payload",
            Self::IdempotencyKeyReused => "Idempotency key used for another request",
            Self::RateLimited => "Too many requests",
            Self::Internal => "Internal error",
            Self::LedgerUnavailable => "Ledger unavailable",
            Self::CommitUnknown => "Outcome of the write unknown",
            Self::NotReady => "Not ready",
        }
    }

    /// Whether the same request can succeed later without anybody changing anything else.
    fn retryable(self) -> bool {
        matches!(
            self,
            Self::RequestTimeout
                | Self::OutcomeUnknown
                | Self::Busy
                | Self::RateLimited
                | Self::Internal
                | Self::LedgerUnavailable
                | Self::CommitUnknown
                | Self::NotReady
        )
    }

    /// The code of an error that the framework answered with nothing but a status.
    fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            401 => Self::Unauthenticated,
            403 => Self::OriginNotAllowed,
            404 => Self::NotFound,
            405 => Self::MethodNotAllowed,
            408 => Self::RequestTimeout,
            411 => Self::LengthRequired,
            413 => Self::PayloadTooLarge,
            415 => Self::UnsupportedMediaType,
            422 => Self::InvalidPayload,
            429 => Self::RateLimited,
            503 => Self::NotReady,
            400..=499 => Self::BadRequest,
            _ => Self::Internal,
        }
    }
}

/// An error on its way to the caller.
#[derive(Clone, Debug)]
pub struct Problem {
    code: Code,
    detail: String,
    errors: Vec<Fault>,
    retry_after: Option<u64>,
}

impl Problem {
    /// A problem with that code; `detail` is shown to the caller.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let retry_after =
            (code.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(RETRY_SECONDS);
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after,
        }
    }

    /// The problem behind an answer that carries nothing but a status and perhaps a text of the framework.
    pub fn of_status(status: StatusCode, text: Option<String>) -> Self {
        let code = Code::of_status(status);
        let detail = match (code, text) {
            (Code::BadRequest, Some(text)) => return Self::of_parameter(&text),
            _ => code.title().to_owned(),
        };
        Self::new(code, detail)
    }

    // The framework names path parameters by number; every one of ours is an id.
    fn of_parameter(text: &str) -> Self {
        if text.starts_with("failed to parse path") {
            return Self::new(Code::InvalidParameter, "the id in the path is not a UUID");
        }
        if text.starts_with("failed to parse parameter") {
            return Self::new(Code::InvalidParameter, text);
        }
        Self::new(Code::BadRequest, Code::BadRequest.title())
    }

    /// With places in the request and what is wrong there.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<Fault>) -> Self {
        self.errors = errors;
        self
    }

    /// With the seconds after which another try makes sense.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Its HTTP status.
    pub fn status(&self) -> StatusCode {
        self.code.status()
    }

    /// Its code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The seconds after which another try makes sense.
    pub fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// The body, for the request of that path.
    pub fn body(self, instance: &str) -> ProblemBody {
        let code = self.code;
        let errors = self.errors.into_iter().map(|fault| ProblemItem {
            pointer: fault.pointer,
            detail: fault.detail,
        });
        ProblemBody {
            uri: format!("urn:tender:problem:{}", code_name(code)),
            title: code.title().to_owned(),
            status: code.status().as_u16(),
            code,
            detail: self.detail,
            instance: instance.to_owned(),
            retryable: code.retryable(),
            errors: errors.collect(),
        }
    }
}

fn code_name(code: Code) -> String {
    use poem_openapi::types::ToJSON;
    match code.to_json() {
        Some(serde_json::Value::String(name)) => name,
        Some(_) | None => String::new(),
    }
}

impl From<LedgerError> for Problem {
    /// What the ledger says goes to the log, never to the caller.
    fn from(error: LedgerError) -> Self {
        tracing::error!(%error, "the ledger could not serve a request");
        match error {
            LedgerError::Unavailable(_) | LedgerError::Unfit(_) => Self::new(
                Code::LedgerUnavailable,
                "the ledger cannot be used just now; nothing was written",
            ),
            LedgerError::CommitUnknown(_) => Self::new(
                Code::CommitUnknown,
                "the ledger's answer was lost: send the same request with the same idempotency key again",
            ),
            LedgerError::Corrupt(_) => Self::new(Code::Internal, "a stored row cannot be read"),
        }
    }
}

impl From<Problem> for poem::Error {
    /// The edge renders it: only there is the request's path known.
    fn from(problem: Problem) -> Self {
        let mut error = Self::from_status(problem.status());
        error.set_data(problem);
        error
    }
}

/// An error (RFC 9457).
#[derive(Debug, Object)]
#[oai(rename = "Problem")]
pub struct ProblemBody {
    /// URN of the code.
    #[oai(rename = "type")]
    uri: String,
    /// The code in words.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What went wrong, for programs.
    code: Code,
    /// What went wrong this time.
    detail: String,
    /// Path of the request.
    instance: String,
    /// Whether the same request can succeed later.
    retryable: bool,
    /// Places in the request, and what is wrong there.
    errors: Vec<ProblemItem>,
}

/// A place in the request, and what is wrong there.
#[derive(Debug, Object)]
pub struct ProblemItem {
    /// JSON pointer into the body.
    pointer: String,
    /// What is wrong.
    detail: String,
}

/// Documents the statuses an operation may refuse with.
pub fn document(statuses: &[u16]) -> MetaResponses {
    let responses = statuses.iter().map(|status| MetaResponse {
        description: description(*status),
        status: Some(*status),
        status_range: None,
        content: vec![MetaMediaType {
            content_type: CONTENT_TYPE,
            schema: ProblemBody::schema_ref(),
        }],
        headers: headers(*status),
    });
    MetaResponses {
        responses: responses.collect(),
    }
}

/// Registers the schema of problems.
pub fn register(registry: &mut Registry) {
    ProblemBody::register(registry);
}

fn headers(status: u16) -> Vec<MetaHeader> {
    if !matches!(status, 429 | 503) {
        return Vec::new();
    }
    vec![MetaHeader {
        name: "Retry-After".to_owned(),
        description: Some("Seconds to wait before the next try".to_owned()),
        required: true,
        deprecated: false,
        schema: u64::schema_ref(),
    }]
}

fn description(status: u16) -> &'static str {
    match status {
        400 => "Malformed JSON, parameter or idempotency key",
        401 => "API key missing or invalid",
        403 => "Not allowed",
        404 => "Not found",
        405 => "Method not allowed",
        408 => "The body did not arrive in time",
        409 => "Not possible where the transaction stands",
        413 => "Body too large",
        415 => "Not sent as JSON",
        422 => "Invalid payload, or the idempotency key was used for another request",
        429 => "Too many requests",
        500 => "Internal error",
        503 => "Something the service needs is not available",
        _ => "Error",
    }
}
