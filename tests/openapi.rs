//! The OpenAPI document in the repository is the one this build serves.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed expectation is how a test speaks"
)]

use std::path::Path;

use tender::http::openapi_yaml;

#[test]
fn the_exported_document_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi/openapi.yaml");
    let exported = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        exported == openapi_yaml(),
        "openapi/openapi.yaml differs from what this build serves: write it anew with `tender openapi`"
    );
}

#[test]
fn every_route_and_status_of_the_contract_is_documented() {
    let document = openapi_yaml();
    for route in [
        "/transactions:",
        "/transactions/{id}:",
        "/transactions/{id}/status:",
        "/admin/transactions/{id}/requeue:",
        "/admin/transactions/{id}/cancel:",
        "/livez:",
        "/readyz:",
        "/metrics:",
        "/openapi.json:",
        "/docs:",
    ] {
        assert!(document.contains(route), "{route}");
    }
    for status in [
        "'200':", "'202':", "'304':", "'400':", "'401':", "'403':", "'404':", "'408':", "'409':",
        "'413':", "'415':", "'422':", "'429':", "'500':", "'503':",
    ] {
        assert!(document.contains(status), "{status}");
    }
    assert!(document.contains("application/problem+json"));
}
