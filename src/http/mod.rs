//! The HTTP API. The only module that names poem.
//!
//! - `transactions`, `status`, `admin`, `probes`, `service`: one file a resource
//! - `auth`, `body`, `edge`: what stands before and around them
//! - `problem`: how errors leave
//!
//! Architecture invariant: nothing here decides about a submission. Handlers translate, flows decide.

mod admin;
mod auth;
mod body;
mod code;
mod edge;
mod patience;
mod probes;
mod problem;
mod refusal;
mod requests;
mod resource;
mod service;
mod status;
mod transactions;
mod watch;
mod words;

use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::Quota;
use poem::http::{HeaderName, Method, header};
use poem::listener::TcpAcceptor;
use poem::middleware::Cors;
use poem::{Endpoint, EndpointExt, Response, Route, Server};
use poem_openapi::OpenApiService;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::ledger::Ledger;

use auth::Guard;
use edge::Methods;
pub use probes::{Check, Liveness, Probed, Readiness};
use service::Documentation;
use watch::Watch;

type Apis = (
    transactions::Transactions,
    status::Statuses,
    admin::Admin,
    probes::Probes,
    service::Service,
);

/// Requests under way at shutdown get that long.
const DRAIN: Duration = Duration::from_secs(10);
/// A connection without a request is closed after that time.
const IDLE: Duration = Duration::from_secs(75);

/// What can be set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Base fee that the estimate for callers rests on, in stroops.
    pub base_fee: i64,
    /// Requests a second that one API key may make.
    pub requests_per_second: NonZeroU32,
    /// Requests that one API key may make at once after a pause.
    pub burst: NonZeroU32,
    /// Largest body of a request, in bytes.
    pub body_limit: usize,
    /// Seconds that pollers are told to wait.
    pub poll_seconds: u64,
    /// Origins whose pages may poll statuses; `*` for all.
    pub cors_origins: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            base_fee: 100,
            requests_per_second: const { NonZeroU32::new(1_000).unwrap() },
            burst: const { NonZeroU32::new(2_000).unwrap() },
            body_limit: 64 * 1024,
            poll_seconds: 1,
            cors_origins: Vec::new(),
        }
    }
}

/// What the API works with.
pub struct Parts {
    /// The truth.
    pub ledger: Ledger,
    /// Wakes the feed when there is something new.
    pub nudge: Arc<Notify>,
    /// What probes tell of.
    pub probed: Probed,
    /// What was set.
    pub settings: Settings,
}

/// What handlers work with.
struct Shared {
    ledger: Ledger,
    nudge: Arc<Notify>,
    settings: Settings,
    watch: Arc<Watch>,
}

/// Serves the API until shutdown; requests under way are finished.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve(
    parts: Parts,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> io::Result<()> {
    run(endpoint(parts, shutdown.clone()), listener, shutdown).await
}

/// Serves the probes of a process that serves nothing else, until shutdown.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve_probes(
    probed: Probed,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> io::Result<()> {
    run(probes_endpoint(probed), listener, shutdown).await
}

fn probes_endpoint(probed: Probed) -> impl Endpoint<Output = Response> + 'static {
    let probes = OpenApiService::new(probes::Probes, "Probes", env!("CARGO_PKG_VERSION"));
    let (methods, metrics) = (methods(&probes.spec()), Arc::clone(&probed.metrics));
    let routes = probes.data(Arc::new(probed)).map_to_response();
    Route::new()
        .at("/*rest", routes)
        .around(move |inner, request| {
            edge::answer(inner, request, Arc::clone(&metrics), Arc::clone(&methods))
        })
}

async fn run(
    endpoint: impl Endpoint + 'static,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> io::Result<()> {
    Server::new_with_acceptor(TcpAcceptor::from_tokio(listener)?)
        .idle_timeout(IDLE)
        .run_with_graceful_shutdown(endpoint, shutdown.cancelled_owned(), Some(DRAIN))
        .await
}

/// The OpenAPI document as YAML. Needs neither a server nor a database.
#[must_use]
pub fn openapi_yaml() -> String {
    api().spec_yaml()
}

fn api() -> OpenApiService<Apis, ()> {
    let apis = (
        transactions::Transactions,
        status::Statuses,
        admin::Admin,
        probes::Probes,
        service::Service,
    );
    OpenApiService::new(apis, "Tender", env!("CARGO_PKG_VERSION"))
        .description("Puts payments on the Stellar network exactly once per idempotency key.")
}

fn endpoint(
    parts: Parts,
    shutdown: CancellationToken,
) -> impl Endpoint<Output = Response> + 'static {
    let api = api();
    let document = api.spec();
    let methods = methods(&document);
    let documentation = Arc::new(Documentation {
        json: document,
        html: api.scalar_html(),
    });
    let metrics = Arc::clone(&parts.probed.metrics);
    let quota =
        Quota::per_second(parts.settings.requests_per_second).allow_burst(parts.settings.burst);
    let guard = Arc::new(Guard::new(parts.ledger.clone(), quota));
    let cors = cors(&parts.settings.cors_origins);
    let shared = Arc::new(Shared {
        watch: Watch::new(parts.ledger.clone(), shutdown),
        ledger: parts.ledger,
        nudge: parts.nudge,
        settings: parts.settings,
    });
    let routes = Arc::new(
        api.data(shared)
            .data(guard)
            .data(Arc::new(parts.probed))
            .data(documentation)
            .map_to_response(),
    );
    Route::new()
        .at("/transactions/:id/status", Arc::clone(&routes).with(cors))
        .at("/*rest", routes)
        .around(move |inner, request| {
            edge::answer(inner, request, Arc::clone(&metrics), Arc::clone(&methods))
        })
}

fn methods(document: &str) -> Arc<Methods> {
    let document = serde_json::from_str(document).unwrap_or_default();
    Arc::new(Methods::of_document(&document))
}

/// Browsers of other origins may poll statuses and do nothing else.
fn cors(origins: &[String]) -> Cors {
    let cors = Cors::new()
        .allow_method(Method::GET)
        .allow_header(header::IF_NONE_MATCH)
        .expose_headers([
            header::ETAG,
            header::RETRY_AFTER,
            HeaderName::from_static("x-request-id"),
        ])
        .max_age(3600);
    if origins.iter().any(|origin| origin == "*") {
        return cors.allow_origins_fn(|_| true);
    }
    let origins = origins.to_vec();
    cors.allow_origins_fn(move |origin| origins.iter().any(|allowed| allowed == origin))
}
