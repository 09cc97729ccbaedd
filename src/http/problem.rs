//! Errors as RFC 9457 problems.

use poem::http::StatusCode;
use poem_openapi::Object;
use poem_openapi::registry::{MetaHeader, MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type;

use crate::flow::fields::Fault;
use crate::ledger::LedgerError;

pub use super::code::Code;

/// Media type of every error.
pub const CONTENT_TYPE: &str = "application/problem+json";
/// Seconds after which a caller may try again when something the service needs is down.
const RETRY_SECONDS: u64 = 1;

/// The same while the ledger's memory is recovered, which takes more than ten minutes.
const RECOVERY_SECONDS: u64 = 60;

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
            uri: format!("urn:tender:problem:{}", code.name()),
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
                "the ledger's answer was lost: send the same request, with the same idempotency key, again",
            ),
            LedgerError::MemoryLost(_) => Self::new(
                Code::MemoryLost,
                "the ledger's memory of payments is being recovered, so nothing is changed; new transactions are taken",
            )
            .with_retry_after(RECOVERY_SECONDS),
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

#[cfg(test)]
mod tests {
    use super::*;
    use poem_openapi::types::ToJSON;

    #[test]
    fn what_the_ledger_says_is_never_shown_and_the_caller_learns_what_to_do() {
        let text = || "password=hunter2 at 10.0.0.1".to_owned();
        let rows = [
            (
                LedgerError::Unavailable(text()),
                503,
                "ledger_unavailable",
                Some(1),
            ),
            (
                LedgerError::Unfit(text()),
                503,
                "ledger_unavailable",
                Some(1),
            ),
            (
                LedgerError::CommitUnknown(text()),
                503,
                "commit_unknown",
                Some(1),
            ),
            (
                LedgerError::MemoryLost(text()),
                503,
                "memory_lost",
                Some(60),
            ),
            (LedgerError::Corrupt(text()), 500, "internal", None),
        ];
        for (error, status, code, retry_after) in rows {
            let problem = Problem::from(error);
            assert_eq!(problem.retry_after(), retry_after);
            assert!(problem.code().retryable());
            let body = problem.body("/x").to_json_string();
            assert!(
                !body.contains("hunter2") && !body.contains("10.0.0.1"),
                "{body}"
            );
            assert!(
                body.contains(&format!("\"status\":{status}")) && body.contains(code),
                "{body}"
            );
        }
        let unknown = Problem::from(LedgerError::CommitUnknown(text())).detail;
        assert!(unknown.contains("the same idempotency key, again"));
    }

    #[test]
    fn texts_of_the_framework_are_shown_for_parameters_only() {
        let detail =
            |text: &str| Problem::of_status(StatusCode::BAD_REQUEST, Some(text.to_owned())).detail;
        assert!(detail("failed to parse parameter `limit`: x").contains("`limit`"));
        assert!(!detail("failed to parse path `param0`: x").contains("param0"));
        assert!(!detail("thread panicked at src/secret.rs").contains("secret"));
        let teapot = Problem::of_status(StatusCode::IM_A_TEAPOT, None);
        assert_eq!(teapot.code(), Code::BadRequest);
    }
}
