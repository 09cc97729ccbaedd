//! What can go wrong, each with its status and title.

use poem::http::StatusCode;
use poem_openapi::Enum;
use poem_openapi::types::ToJSON;

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
    /// The ledger was set back: nothing is changed until its memory is recovered. Nothing was written.
    MemoryLost,
    /// Something the service needs is not ready.
    NotReady,
    /// A part of the process is dead: it has to be started again.
    NotAlive,
}

impl Code {
    /// Its HTTP status.
    pub fn status(self) -> StatusCode {
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
            Self::LedgerUnavailable
            | Self::CommitUnknown
            | Self::MemoryLost
            | Self::NotReady
            | Self::NotAlive => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The code in words.
    pub fn title(self) -> &'static str {
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
            Self::MemoryLost => "Memory being recovered",
            Self::NotReady => "Not ready",
            Self::NotAlive => "Not alive",
        }
    }

    /// Whether the same request can succeed later without anybody changing anything else.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::RequestTimeout
                | Self::OutcomeUnknown
                | Self::Busy
                | Self::RateLimited
                | Self::Internal
                | Self::LedgerUnavailable
                | Self::CommitUnknown
                | Self::MemoryLost
                | Self::NotReady
        )
    }

    /// The code of an error that the framework answered with nothing but a status.
    pub fn of_status(status: StatusCode) -> Self {
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

    /// The name in the API.
    pub fn name(self) -> String {
        match self.to_json() {
            Some(serde_json::Value::String(name)) => name,
            Some(_) | None => String::new(),
        }
    }
}
