//! Whoever answers with an error, it leaves as a problem.

use reqwest::{Method, StatusCode};

use crate::support::{header, problem, server};

#[tokio::test]
async fn errors_of_the_framework_are_problems() {
    let server = server().await;
    let id = server.pushed("k").await;
    let status = format!("/transactions/{id}/status");
    let rows = [
        (Method::GET, "/", 404, "not_found"),
        (Method::GET, "/nowhere", 404, "not_found"),
        (Method::GET, "/transactions/", 404, "not_found"),
        (Method::GET, "/transactions/a/b/c/d", 404, "not_found"),
        (Method::POST, "/nowhere", 404, "not_found"),
        (Method::DELETE, "/transactions", 405, "method_not_allowed"),
        (Method::PATCH, "/transactions", 405, "method_not_allowed"),
        (Method::POST, &status, 405, "method_not_allowed"),
        (
            Method::GET,
            "/admin/transactions/x/cancel",
            405,
            "method_not_allowed",
        ),
        (Method::POST, "/livez", 405, "method_not_allowed"),
        (
            Method::GET,
            "/transactions/not-a-uuid",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions/not-a-uuid/status",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions/%00/status",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions/%ff/status",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions?limit=0",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions?limit=201",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions?limit=x",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions?limit=-1",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions?status=done",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions?kind=x",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions?cursor=nonsense",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions?cursor=%00",
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            &format!("{status}?wait=x"),
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            &format!("{status}?wait=31"),
            400,
            "invalid_parameter",
        ),
        (
            Method::GET,
            "/transactions/00000000-0000-4000-8000-000000000000",
            404,
            "not_found",
        ),
        (
            Method::GET,
            "/transactions/00000000-0000-4000-8000-000000000000/status",
            404,
            "not_found",
        ),
    ];
    for (method, path, expected, code) in rows {
        let request = server
            .client
            .request(method.clone(), format!("{}{path}", server.url))
            .bearer_auth(&server.token);
        let response = request.send().await.expect("an answer");
        if expected == 405 {
            assert!(header(&response, "allow").is_some(), "{method} {path}");
        }
        let shown = problem(response, expected, code).await.to_string();
        assert!(!shown.contains("param0"), "{method} {path}: {shown}");
    }
}

#[tokio::test]
async fn a_method_that_is_not_allowed_comes_with_those_that_are() {
    let server = server().await;
    let response = server
        .client
        .delete(format!("{}/transactions", server.url))
        .send()
        .await;
    let response = response.expect("an answer");
    let mut allowed: Vec<_> = header(&response, "allow")
        .expect("a header")
        .split(", ")
        .collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "POST"]);
}

#[tokio::test]
async fn requests_have_an_id() {
    let server = server().await;
    let url = format!("{}/livez", server.url);
    let own = server
        .client
        .get(&url)
        .header("X-Request-Id", "mine-1")
        .send()
        .await
        .expect("an answer");
    assert_eq!(header(&own, "x-request-id"), Some("mine-1"));
    for doubtful in ["a b", "<script>", &"x".repeat(65)] {
        let fresh = server
            .client
            .get(&url)
            .header("X-Request-Id", doubtful)
            .send()
            .await;
        let fresh = fresh.expect("an answer");
        assert_eq!(header(&fresh, "x-request-id").map(str::len), Some(36));
    }
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let server = server().await;
    let head = server
        .client
        .head(format!("{}/livez", server.url))
        .send()
        .await
        .expect("an answer");
    assert_eq!(head.status(), StatusCode::OK);
    assert_eq!(head.text().await.expect("a body"), "");
}
