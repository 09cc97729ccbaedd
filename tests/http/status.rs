use std::time::{Duration, Instant};

use reqwest::header::{IF_NONE_MATCH, ORIGIN};
use reqwest::{Method, StatusCode};
use serde_json::json;
use tender::domain::ids::SubmissionId;
use tender::flow::withdraw;
use tender::http::Settings;

use crate::support::{Server, body, header, problem, ready, server, server_with};

async fn cancel(server: &Server, id: &str) {
    let id: SubmissionId = id.parse().expect("an id");
    let reason = "test".parse().expect("a reason");
    let withdrawn = withdraw::cancel(&server.ledger, id, &reason, "test").await;
    assert!(
        matches!(withdrawn, Ok(withdraw::Withdrawn::Done(_))),
        "{withdrawn:?}"
    );
}

fn status(server: &Server, id: &str, query: &str) -> reqwest::RequestBuilder {
    server
        .client
        .get(format!("{}/transactions/{id}/status{query}", server.url))
}

#[tokio::test]
async fn frontends_poll_without_a_key_and_learn_when_to_stop() {
    let server = server().await;
    let id = server.pushed("k").await;
    let pending = status(&server, &id, "").send().await.expect("an answer");
    assert_eq!(pending.status(), StatusCode::OK);
    assert_eq!(header(&pending, "retry-after"), Some("1"));
    assert_eq!(header(&pending, "cache-control"), Some("no-cache"));
    let tag = header(&pending, "etag").expect("a tag").to_owned();
    assert!(
        tag.starts_with('"') && tag.ends_with('"'),
        "a strong tag: {tag}"
    );
    let shown = body(pending).await;
    assert_eq!(
        (&shown["status"], &shown["verdict"]),
        (&json!("pending"), &json!("PENDING"))
    );
    let names: Vec<_> = shown
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    assert_eq!(
        names,
        ["id", "status", "updated_at", "verdict"],
        "nothing else is public"
    );

    let same = status(&server, &id, "")
        .header(IF_NONE_MATCH, &tag)
        .send()
        .await
        .expect("an answer");
    assert_eq!(same.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(header(&same, "etag"), Some(tag.as_str()));
    assert_eq!(header(&same, "retry-after"), Some("1"));
    assert_eq!(same.text().await.expect("a body"), "");

    cancel(&server, &id).await;
    let ended = status(&server, &id, "")
        .header(IF_NONE_MATCH, &tag)
        .send()
        .await
        .expect("an answer");
    assert_eq!(ended.status(), StatusCode::OK);
    assert_eq!(header(&ended, "retry-after"), None);
    assert_ne!(header(&ended, "etag"), Some(tag.as_str()));
    assert_eq!(body(ended).await["status"], json!("cancelled"));
}

#[tokio::test]
async fn a_long_poll_answers_as_soon_as_something_changes() {
    let server = server().await;
    let id = server.pushed("k").await;
    let started = Instant::now();
    let polls = (0..20).map(|_| status(&server, &id, "?wait=20").send());
    let (answers, ()) = tokio::join!(futures::future::join_all(polls), async {
        // Only once the polls wait does the change come.
        while !waits(&server).await {}
        cancel(&server, &id).await;
    });
    for answer in answers {
        assert_eq!(
            body(answer.expect("an answer")).await["status"],
            json!("cancelled")
        );
    }
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}

/// Whether the server answers while polls wait: it is not held up by them.
async fn waits(server: &Server) -> bool {
    let answer = server
        .client
        .get(format!("{}/livez", server.url))
        .send()
        .await;
    answer.expect("an answer").status() == StatusCode::OK
}

#[tokio::test]
async fn a_long_poll_without_a_change_ends_in_time_with_what_is_known() {
    let server = server().await;
    let id = server.pushed("k").await;
    let started = Instant::now();
    let unchanged = status(&server, &id, "?wait=1")
        .send()
        .await
        .expect("an answer");
    assert_eq!(body(unchanged).await["status"], json!("pending"));
    let tag = header(
        &status(&server, &id, "").send().await.expect("an answer"),
        "etag",
    )
    .expect("a tag")
    .to_owned();
    let known = status(&server, &id, "?wait=1")
        .header(IF_NONE_MATCH, tag)
        .send()
        .await;
    assert_eq!(known.expect("an answer").status(), StatusCode::NOT_MODIFIED);
    assert!(started.elapsed() >= Duration::from_secs(2), "both waited");
}

#[tokio::test]
async fn nobody_waits_for_what_is_over_or_already_new() {
    let server = server().await;
    let id = server.pushed("k").await;
    let started = Instant::now();
    let news = status(&server, &id, "?wait=30")
        .header(IF_NONE_MATCH, "\"other\"")
        .send()
        .await;
    assert_eq!(news.expect("an answer").status(), StatusCode::OK);
    cancel(&server, &id).await;
    let over = status(&server, &id, "?wait=30")
        .send()
        .await
        .expect("an answer");
    let tag = header(&over, "etag").expect("a tag").to_owned();
    let known = status(&server, &id, "?wait=30")
        .header(IF_NONE_MATCH, tag)
        .send()
        .await;
    assert_eq!(known.expect("an answer").status(), StatusCode::NOT_MODIFIED);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn shutdown_ends_long_polls_and_the_server() {
    let server = server().await;
    let id = server.pushed("k").await;
    let poll = tokio::spawn(status(&server, &id, "?wait=30").send());
    while !waits(&server).await {}
    server.shutdown.cancel();
    let answer = tokio::time::timeout(Duration::from_secs(9), poll)
        .await
        .expect("in time");
    // The poll either was answered or came too late to be accepted.
    if let Ok(answer) = answer.expect("joined") {
        assert_eq!(answer.status(), StatusCode::OK);
    }
    let ended = tokio::time::timeout(Duration::from_secs(15), server.task).await;
    assert!(ended.expect("in time").expect("joined").is_ok());
}

#[tokio::test]
async fn browsers_of_allowed_origins_may_poll_and_no_others() {
    let settings = Settings {
        cors_origins: vec!["https://shop.example".to_owned()],
        ..Settings::default()
    };
    let server = server_with(settings, ready(vec![])).await;
    let id = server.pushed("k").await;
    let poll = |origin: &str| status(&server, &id, "").header(ORIGIN, origin).send();
    let allowed = poll("https://shop.example").await.expect("an answer");
    assert_eq!(
        header(&allowed, "access-control-allow-origin"),
        Some("https://shop.example")
    );
    let exposed = header(&allowed, "access-control-expose-headers").expect("a header");
    assert!(
        exposed.to_lowercase().contains("etag") && exposed.to_lowercase().contains("retry-after")
    );
    problem(
        poll("https://evil.example").await.expect("an answer"),
        403,
        "origin_not_allowed",
    )
    .await;

    let preflight = |path: String| {
        server
            .client
            .request(Method::OPTIONS, format!("{}{path}", server.url))
            .header(ORIGIN, "https://shop.example")
            .header("Access-Control-Request-Method", "GET")
            .header("Access-Control-Request-Headers", "if-none-match")
            .send()
    };
    let polling = preflight(format!("/transactions/{id}/status"))
        .await
        .expect("an answer");
    assert_eq!(polling.status(), StatusCode::OK);
    let other = preflight("/transactions".to_owned())
        .await
        .expect("an answer");
    assert_eq!(header(&other, "access-control-allow-origin"), None);
    problem(other, 405, "method_not_allowed").await;
}
