//! The outermost layer: every request gets an id, every answer is measured, every error leaves as a problem.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use poem::http::{HeaderName, HeaderValue, StatusCode, header};
use poem::{Endpoint, Request, Response, Result};
use poem_openapi::types::ToJSON;
use tracing::Instrument;
use uuid::Uuid;

use crate::metrics::Metrics;

use super::problem::{self, Code, Problem};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest request id taken over from the caller, in characters.
const MAX_REQUEST_ID: usize = 64;
/// Most of a text of the framework that is read, in bytes.
const MAX_TEXT: usize = 1024;

/// Answers one request.
///
/// # Errors
/// None: every error became a response.
pub async fn answer<E: Endpoint + 'static>(
    inner: Arc<E>,
    request: Request,
    metrics: Arc<Metrics>,
    methods: Arc<Methods>,
) -> Result<Response> {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let id = request_id(&request);
    let span = tracing::info_span!("http", %method, path, request_id = %id);
    let response = AssertUnwindSafe(inner.get_response(request))
        .catch_unwind()
        .instrument(span.clone())
        .await;
    let response = match response {
        Ok(response) => response,
        Err(_) => {
            poem::Error::from(Problem::new(Code::Internal, "an internal fault")).into_response()
        }
    };
    let mut response = as_problem(response, &path).await;
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if response.status() == StatusCode::METHOD_NOT_ALLOWED
        && let Some(allowed) = methods.allowed(&path)
    {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    let (status, elapsed) = (response.status().as_u16(), started.elapsed());
    metrics.http_answered(method.as_str(), status, elapsed);
    span.in_scope(|| tracing::debug!(status, ?elapsed, "answered"));
    Ok(response)
}

/// The caller's own id of the request if it is harmless, else a fresh one.
fn request_id(request: &Request) -> String {
    let harmless = |id: &&str| {
        !id.is_empty()
            && id.len() <= MAX_REQUEST_ID
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    request
        .headers()
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(harmless)
        .map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

/// Any error becomes a problem, whoever answered it and in whatever form.
async fn as_problem(mut response: Response, path: &str) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let problem = match response.extensions_mut().remove::<Problem>() {
        Some(problem) => problem,
        None => Problem::of_status(status, text(&mut response).await),
    };
    render(problem, path, response)
}

async fn text(response: &mut Response) -> Option<String> {
    let bytes = response.take_body().into_bytes_limit(MAX_TEXT).await.ok()?;
    String::from_utf8(bytes.into()).ok()
}

fn render(problem: Problem, path: &str, mut response: Response) -> Response {
    response.set_status(problem.status());
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(problem::CONTENT_TYPE),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = problem.retry_after() {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    if problem.status() == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    let body = problem.body(path).to_json_string();
    response.set_body(body);
    response
}

/// Which methods each documented path knows, for the `Allow` header.
pub struct Methods(Vec<(Vec<String>, HeaderValue)>);

impl Methods {
    /// Of an OpenAPI document.
    pub fn of_document(document: &serde_json::Value) -> Self {
        let paths = document.get("paths").and_then(serde_json::Value::as_object);
        let entries = paths
            .into_iter()
            .flatten()
            .filter_map(|(path, operations)| {
                let methods: Vec<String> = operations
                    .as_object()?
                    .keys()
                    .map(|method| method.to_ascii_uppercase())
                    .collect();
                let allowed = HeaderValue::from_str(&methods.join(", ")).ok()?;
                Some((path.split('/').map(str::to_owned).collect(), allowed))
            });
        Self(entries.collect())
    }

    fn allowed(&self, path: &str) -> Option<HeaderValue> {
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |pattern: &[String]| {
            pattern.len() == parts.len()
                && pattern
                    .iter()
                    .zip(&parts)
                    .all(|(wanted, part)| wanted.starts_with('{') || wanted == part)
        };
        self.0
            .iter()
            .find(|(pattern, _)| fits(pattern))
            .map(|(_, allowed)| allowed.clone())
    }
}
