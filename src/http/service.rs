//! The service about itself: its documentation.

use std::sync::Arc;

use poem::http::{HeaderValue, header};
use poem::web::Data;
use poem::{IntoResponse, Response};
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiResponse, OpenApi};

/// The operations that explain the others.
pub struct Service;

/// The documentation, rendered once.
pub struct Documentation {
    /// `openapi.json`.
    pub json: String,
    /// The page that shows it.
    pub html: String,
}

#[OpenApi]
impl Service {
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
