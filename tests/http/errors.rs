//! Whoever answers with an error, it leaves as a problem.

use reqwest::{Method, StatusCode};

use crate::support::{header, problem, server};

const NOWHERE: &[(&str, &str)] = &[
    ("GET", "/"),
    ("GET", "/nowhere"),
    ("GET", "/transactions/"),
    ("GET", "/transactions/a/b/c/d"),
    ("POST", "/nowhere"),
    ("GET", "/transactions/00000000-0000-4000-8000-000000000000"),
    (
        "GET",
        "/transactions/00000000-0000-4000-8000-000000000000/status",
    ),
];

const NOT_THAT_WAY: &[(&str, &str)] = &[
    ("DELETE", "/transactions"),
    ("PATCH", "/transactions"),
    ("BREW", "/transactions"),
    ("POST", "/transactions/x/status"),
    ("GET", "/admin/transactions/x/cancel"),
    ("POST", "/livez"),
];

const BAD_PARAMETERS: &[(&str, &str)] = &[
    ("GET", "/transactions/not-a-uuid"),
    ("GET", "/transactions/not-a-uuid/status"),
    ("GET", "/transactions/%00/status"),
    ("GET", "/transactions/%ff/status"),
    ("GET", "/transactions?limit=0"),
    ("GET", "/transactions?limit=201"),
    ("GET", "/transactions?limit=x"),
    ("GET", "/transactions?limit=-1"),
    ("GET", "/transactions?limit=99999999999999999999"),
    ("GET", "/transactions?status=done"),
    ("GET", "/transactions?kind=x"),
    ("GET", "/transactions?cursor="),
    ("GET", "/transactions?cursor=nonsense"),
    ("GET", "/transactions?cursor=%00"),
    (
        "GET",
        "/transactions/00000000-0000-4000-8000-000000000000/status?wait=x",
    ),
    (
        "GET",
        "/transactions/00000000-0000-4000-8000-000000000000/status?wait=31",
    ),
];

#[tokio::test]
async fn errors_of_the_framework_are_problems() {
    let server = server().await;
    let tables = [
        (NOWHERE, 404, "not_found"),
        (NOT_THAT_WAY, 405, "method_not_allowed"),
        (BAD_PARAMETERS, 400, "invalid_parameter"),
    ];
    for (rows, status, code) in tables {
        for (method, path) in rows {
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            let request = server
                .client
                .request(method.clone(), format!("{}{path}", server.url))
                .bearer_auth(&server.token);
            let response = request.send().await.expect("an answer");
            let allow = header(&response, "allow").is_some();
            assert_eq!(allow, status == 405, "{method} {path}");
            let shown = problem(response, status, code).await.to_string();
            assert!(!shown.contains("param0"), "{method} {path}: {shown}");
        }
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
