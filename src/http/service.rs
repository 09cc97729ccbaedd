//! The service about itself: probes, metrics, documentation.

use std::sync::Arc;

use poem::http::{HeaderValue, header};
use poem::web::Data;
use poem::{IntoResponse, Response};
use poem_openapi::payload::{Json, PlainText};
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiResponse, Object, OpenApi};

use crate::flow::fields::Fault;

use super::Shared;
use super::patience::reading;
use super::problem::{Code, Problem};
use super::refusal::{MetricsRefused, ReadyRefused};

/// The operations of operators and their tools.
pub struct Service;

/// The documentation, rendered once.
pub struct Documentation {
    /// `openapi.json`.
    pub json: String,
    /// The page that shows it.
    pub html: String,
}

/// The process runs.
#[derive(Debug, Object)]
pub struct Live {
    /// Always `ok`.
    status: String,
}

/// Everything the service needs is there.
#[derive(Debug, Object)]
pub struct Ready {
    /// What was looked at, and what was found.
    checks: Vec<ReadyCheck>,
}

/// One thing the service needs.
#[derive(Debug, Object)]
pub struct ReadyCheck {
    /// What.
    name: String,
    /// What was found.
    detail: String,
}

#[OpenApi]
impl Service {
    /// Whether the process runs.
    #[oai(path = "/livez", method = "get", operation_id = "live")]
    #[expect(
        clippy::unused_async,
        reason = "the framework calls asynchronous handlers only"
    )]
    async fn live(&self) -> Json<Live> {
        Json(Live {
            status: "ok".to_owned(),
        })
    }

    /// Whether the service can do its work.
    #[oai(path = "/readyz", method = "get", operation_id = "ready")]
    async fn ready(&self, app: Data<&Arc<Shared>>) -> Result<Json<Ready>, ReadyRefused> {
        let checks = (app.readiness)().await;
        let (good, bad): (Vec<_>, Vec<_>) = checks.into_iter().partition(|check| check.ready);
        if bad.is_empty() {
            let checks = good.into_iter().map(|check| ReadyCheck {
                name: check.name.to_owned(),
                detail: check.detail,
            });
            return Ok(Json(Ready {
                checks: checks.collect(),
            }));
        }
        let errors = bad.into_iter().map(|check| Fault {
            pointer: format!("/{}", check.name),
            detail: check.detail,
        });
        let problem = Problem::new(Code::NotReady, "something the service needs is not ready");
        Err(problem.with_errors(errors.collect()).into())
    }

    /// Metrics in Prometheus' text format.
    #[oai(path = "/metrics", method = "get", operation_id = "metrics")]
    async fn metrics(&self, app: Data<&Arc<Shared>>) -> Result<PlainText<String>, MetricsRefused> {
        // Without the ledger the other metrics are worth the more.
        if let Ok(counts) = reading(app.ledger.live_counts()).await {
            app.metrics.set_depth(&counts);
        }
        if let Ok(pool) = reading(app.ledger.pool()).await {
            app.metrics
                .set_channels(pool.free, pool.leased, pool.quarantined);
        }
        let text = app.metrics.render();
        text.map(PlainText)
            .map_err(|fault| Problem::new(Code::Internal, fault.to_string()).into())
    }

    /// This document.
    #[oai(path = "/openapi.json", method = "get", operation_id = "openapi")]
    #[expect(
        clippy::unused_async,
        reason = "the framework calls asynchronous handlers only"
    )]
    async fn openapi(&self, documentation: Data<&Arc<Documentation>>) -> OpenApiJson {
        OpenApiJson(documentation.json.clone())
    }

    /// This document, as a page.
    #[oai(path = "/docs", method = "get", operation_id = "docs")]
    #[expect(
        clippy::unused_async,
        reason = "the framework calls asynchronous handlers only"
    )]
    async fn docs(&self, documentation: Data<&Arc<Documentation>>) -> Page {
        Page(documentation.html.clone())
    }
}

macro_rules! fixed {
    ($($(#[$doc:meta])* $name:ident: $content_type:literal, $description:literal;)*) => { $(
        $(#[$doc])*
        pub struct $name(String);

        impl IntoResponse for $name {
            fn into_response(self) -> Response {
                let mut response = Response::builder().body(self.0);
                response
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, HeaderValue::from_static($content_type));
                response
            }
        }

        impl ApiResponse for $name {
            fn meta() -> MetaResponses {
                MetaResponses {
                    responses: vec![MetaResponse {
                        description: $description,
                        status: Some(200),
                        status_range: None,
                        content: vec![MetaMediaType {
                            content_type: $content_type,
                            schema: String::schema_ref(),
                        }],
                        headers: Vec::new(),
                    }],
                }
            }

            fn register(_registry: &mut Registry) {}
        }
    )* };
}

fixed! {
    /// The document as JSON.
    OpenApiJson: "application/json", "The OpenAPI document";
    /// The page.
    Page: "text/html; charset=utf-8", "A page for people";
}
