use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use tender::flow::keys::{self, Scope};

use crate::support::{body, header, payment, problem, ready, server, server_with, slow_rate};

#[tokio::test]
async fn a_missing_or_wrong_key_is_401() {
    let server = server().await;
    let url = format!("{}/transactions", server.url);
    let missing = server.client.get(&url).send().await.expect("an answer");
    assert_eq!(header(&missing, "www-authenticate"), Some("Bearer"));
    problem(missing, 401, "unauthenticated").await;
    let (id, secret) = server.token.rsplit_once('_').expect("a token");
    let wrong = format!("{id}_{}", secret.chars().rev().collect::<String>());
    let unknown = format!("tender_0000000000000000_{secret}");
    for token in [
        "",
        "x",
        "tender",
        "tender_x_y",
        &wrong,
        &unknown,
        &format!("{} x", server.token),
    ] {
        let refused = server.client.get(&url).bearer_auth(token).send().await;
        let refused = problem(refused.expect("an answer"), 401, "unauthenticated").await;
        assert!(!refused.to_string().contains(secret), "no secret is echoed");
    }
    let basic = server
        .client
        .get(&url)
        .basic_auth("u", Some("p"))
        .send()
        .await;
    problem(basic.expect("an answer"), 401, "unauthenticated").await;
    let latin = reqwest::header::HeaderValue::from_bytes(b"Bearer \xff").expect("a header");
    let latin = server
        .client
        .get(&url)
        .header("authorization", latin)
        .send()
        .await;
    problem(latin.expect("an answer"), 401, "unauthenticated").await;
}

#[tokio::test]
async fn who_is_asking_is_settled_before_the_body_is_read() {
    let server = server().await;
    let nobody = server
        .client
        .post(format!("{}/transactions", server.url))
        .body("nonsense");
    problem(
        nobody.send().await.expect("an answer"),
        401,
        "unauthenticated",
    )
    .await;
}

#[tokio::test]
async fn each_operation_needs_its_scope() {
    let mut server = server().await;
    let id = server.pushed("k").await;
    let reason = json!({"reason": "test"});
    let cancel = format!("/admin/transactions/{id}/cancel");
    let requeue = format!("/admin/transactions/{id}/requeue");
    for held in Scope::ALL {
        server.token = server.key("acme", &[held]).await;
        let allowed = [
            (server.get("/transactions"), Scope::TransactionsRead),
            (
                server.get(&format!("/transactions/{id}")),
                Scope::TransactionsRead,
            ),
            (
                server.post("/transactions", &payment()),
                Scope::TransactionsWrite,
            ),
            (server.post(&cancel, &json!({})), Scope::OutboxWrite),
            (server.post(&requeue, &reason), Scope::OutboxWrite),
        ];
        for (request, needed) in allowed {
            let response = request.send().await.expect("an answer");
            if held == needed {
                assert_ne!(response.status(), StatusCode::FORBIDDEN, "{held}");
            } else {
                let refused = problem(response, 403, "missing_scope").await;
                let detail = refused["detail"].as_str().expect("a detail");
                assert!(detail.contains(needed.as_str()), "{detail}");
            }
        }
    }
}

#[tokio::test]
async fn tenants_see_their_own_and_keys_are_theirs() {
    let mut server = server().await;
    let id = server.pushed("shared-key").await;
    let scopes = [Scope::TransactionsWrite, Scope::TransactionsRead];
    server.token = server.key("other", &scopes).await;
    let foreign = server.get(&format!("/transactions/{id}")).send().await;
    problem(foreign.expect("an answer"), 404, "not_found").await;
    let page = body(server.get("/transactions").send().await.expect("an answer")).await;
    assert_eq!(page["items"], json!([]));
    let own = server.push("shared-key", &payment()).await;
    assert_eq!(
        own.status(),
        StatusCode::ACCEPTED,
        "the key of another tenant is another key"
    );
    assert_ne!(body(own).await["id"], json!(id));
}

#[tokio::test]
async fn a_revoked_key_stops_working_within_seconds() {
    let server = server().await;
    assert_eq!(
        server
            .get("/transactions")
            .send()
            .await
            .expect("an answer")
            .status(),
        200
    );
    let id = server.token.split('_').nth(1).expect("an id");
    assert!(keys::revoke(&server.ledger, id).await.expect("revoked"));
    assert!(
        !keys::revoke(&server.ledger, id).await.expect("asked"),
        "once is enough"
    );
    let refused = async {
        loop {
            let response = server.get("/transactions").send().await.expect("an answer");
            if response.status() == StatusCode::UNAUTHORIZED {
                break response;
            }
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(10), refused).await;
    problem(refused.expect("refused in time"), 401, "unauthenticated").await;
}

#[tokio::test]
async fn keys_are_listed_without_their_secrets() {
    let server = server().await;
    let secret = server.token.rsplit('_').next().expect("a secret");
    let listed = keys::list(&server.ledger).await.expect("keys");
    assert_eq!(listed.len(), 1);
    let shown = format!("{listed:?}");
    assert!(!shown.contains(secret), "{shown}");
    let tenant = "acme".parse().expect("a tenant");
    assert!(
        keys::create(&server.ledger, &tenant, "no scope", &[])
            .await
            .is_err()
    );
    assert!(
        keys::create(&server.ledger, &tenant, "", &[Scope::AuditRead])
            .await
            .is_err()
    );
    let issued = keys::create(&server.ledger, &tenant, "n", &[Scope::AuditRead]).await;
    assert!(format!("{issued:?}").contains("REDACTED"));
}

#[tokio::test]
async fn each_key_has_a_rate_of_its_own() {
    let mut server = server_with(slow_rate(), ready(vec![])).await;
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(server.get("/transactions").send().await.expect("an answer"));
    }
    let refused: Vec<_> = answers
        .into_iter()
        .filter(|answer| answer.status() == StatusCode::TOO_MANY_REQUESTS)
        .collect();
    assert!(refused.len() >= 10, "{}", refused.len());
    for answer in refused {
        assert_eq!(header(&answer, "retry-after"), Some("1"));
        let refused = problem(answer, 429, "rate_limited").await;
        assert_eq!(refused["retryable"], json!(true));
    }
    server.token = server.key("other", &[Scope::TransactionsRead]).await;
    assert_eq!(
        server
            .get("/transactions")
            .send()
            .await
            .expect("an answer")
            .status(),
        200
    );
}
