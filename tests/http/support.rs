//! A server of its own for each test: real HTTP, a SQLite file in a temporary directory.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;
use tender::domain::ids::AccountId;
use tender::domain::submission::Budget;
use tender::flow::keys::{self, Scope};
use tender::http::{Check, Parts, Probed, Readiness, Settings};
use tender::ledger::Ledger;
use tender::ledger::Rules;
use tender::metrics::Metrics;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A running server and what a test needs to talk to it.
pub struct Server {
    pub url: String,
    pub ledger: Ledger,
    /// Where the ledger is kept.
    pub database: String,
    pub client: Client,
    /// Of the tenant `acme`, with the scopes of a payment service.
    pub token: String,
    pub nudge: Arc<Notify>,
    pub shutdown: CancellationToken,
    pub task: JoinHandle<std::io::Result<()>>,
    _directory: TempDir,
}

pub async fn server() -> Server {
    server_with(Settings::default(), ready(vec![])).await
}

pub fn ready(checks: Vec<Check>) -> Readiness {
    Arc::new(move || {
        let checks = checks.clone();
        async move { checks }.boxed()
    })
}

pub async fn server_with(settings: Settings, readiness: Readiness) -> Server {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("ledger.sqlite");
    let url = format!("sqlite://{}?mode=rwc", path.display());
    let ledger = Ledger::connect(&url, 4, rules()).await.expect("a ledger");
    ledger.migrate_up().await.expect("a schema");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (nudge, shutdown) = (Arc::new(Notify::new()), CancellationToken::new());
    let parts = Parts {
        ledger: ledger.clone(),
        nudge: Arc::clone(&nudge),
        probed: Probed {
            liveness: Arc::new(Vec::new),
            readiness,
            metrics: Arc::new(Metrics::new().expect("metrics")),
            rpc: None,
            balances: Vec::new(),
            ledger: Some(ledger.clone()),
        },
        settings,
    };
    let task = tokio::spawn(tender::http::serve(parts, listener, shutdown.clone()));
    let mut server = Server {
        url: format!("http://{address}"),
        ledger,
        database: url,
        client: Client::builder().no_proxy().build().expect("a client"),
        token: String::new(),
        nudge,
        shutdown,
        task,
        _directory: directory,
    };
    let payment_service = [Scope::TransactionsWrite, Scope::TransactionsRead];
    server.token = server.key("acme", &payment_service).await;
    server
}

pub fn slow_rate() -> Settings {
    Settings {
        requests_per_second: NonZeroU32::MIN,
        burst: NonZeroU32::new(3).expect("positive"),
        ..Settings::default()
    }
}

fn rules() -> Rules {
    Rules {
        budget: Budget {
            transient_failures: 5,
            claims: 5,
        },
        backoff: |_, base, _| base,
        backoff_base: Duration::ZERO,
        backoff_max: Duration::ZERO,
        claim_ttl: Duration::from_secs(30),
        resend_after: Duration::from_secs(5),
        max_in_flight: None,
    }
}

impl Server {
    pub async fn key(&self, tenant: &str, scopes: &[Scope]) -> String {
        let tenant = tenant.parse().expect("a tenant");
        let issued = keys::create(&self.ledger, &tenant, "test", scopes)
            .await
            .expect("a key");
        issued.token.expose_secret().to_owned()
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client
            .get(format!("{}{path}", self.url))
            .bearer_auth(&self.token)
    }

    pub fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.client
            .post(format!("{}{path}", self.url))
            .bearer_auth(&self.token)
            .json(body)
    }

    pub async fn push(&self, key: &str, body: &Value) -> Response {
        self.post("/transactions", body)
            .header("Idempotency-Key", key)
            .send()
            .await
            .expect("an answer")
    }

    /// Pushes a good payment and returns its id.
    pub async fn pushed(&self, key: &str) -> String {
        let response = self.push(key, &payment()).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED);
        text(&body(response).await, "id")
    }

    /// Rows in the ledger, of all tenants.
    pub async fn rows(&self) -> usize {
        let filter = tender::ledger::ListFilter::default();
        self.ledger
            .list(&filter, None, 200)
            .await
            .expect("rows")
            .0
            .len()
    }
}

pub fn payee() -> String {
    AccountId([3; 32]).to_string()
}

pub fn payment() -> Value {
    json!({"operation": {"type": "payment", "destination": payee(), "asset": "native", "amount": "12.5"}})
}

pub async fn body(response: Response) -> Value {
    response.json().await.expect("JSON")
}

pub fn text(value: &Value, name: &str) -> String {
    value[name]
        .as_str()
        .unwrap_or_else(|| panic!("{name} in {value}"))
        .to_owned()
}

pub fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response
        .headers()
        .get(name)
        .map(|value| value.to_str().expect("a text"))
}

/// Checks that an answer is a problem as RFC 9457 and the contract want it, and returns it.
pub async fn problem(response: Response, status: u16, code: &str) -> Value {
    let (got, path) = (response.status().as_u16(), response.url().path().to_owned());
    let media = header(&response, "content-type").map(str::to_owned);
    let id = header(&response, "x-request-id").map(str::to_owned);
    let retry_after = header(&response, "retry-after").map(str::to_owned);
    let value: Value = response.json().await.expect("a JSON problem");
    assert_eq!(
        (got, value["code"].as_str()),
        (status, Some(code)),
        "{value}"
    );
    assert_eq!(
        media.as_deref(),
        Some("application/problem+json"),
        "{value}"
    );
    assert!(id.is_some_and(|id| !id.is_empty()), "an id: {value}");
    assert_eq!(value["status"], json!(status));
    assert_eq!(value["instance"], json!(path));
    assert_eq!(value["type"], json!(format!("urn:tender:problem:{code}")));
    assert!(
        value["title"].is_string() && value["retryable"].is_boolean() && value["errors"].is_array()
    );
    assert!(
        value["detail"]
            .as_str()
            .is_some_and(|detail| !detail.is_empty()),
        "{value}"
    );
    assert_eq!(
        matches!(status, 429 | 503),
        retry_after.is_some(),
        "{value}"
    );
    value
}

/// Pointers of a problem's errors.
pub fn pointers(problem: &Value) -> Vec<String> {
    let errors = problem["errors"].as_array().expect("errors");
    errors.iter().map(|error| text(error, "pointer")).collect()
}
