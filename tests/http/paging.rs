use serde_json::{Value, json};

use crate::support::{Server, body, payee, server, text};

async fn page(server: &Server, query: &str) -> Value {
    let response = server.get(&format!("/transactions?{query}")).send().await;
    let response = response.expect("an answer");
    assert_eq!(response.status(), 200);
    body(response).await
}

fn keys(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().expect("items");
    items
        .iter()
        .map(|item| text(item, "idempotency_key"))
        .collect()
}

#[tokio::test]
async fn pages_follow_each_other_newest_first_without_gap_or_repetition() {
    let server = server().await;
    for index in 0..7 {
        server.pushed(&format!("k{index}")).await;
    }
    let mut seen = Vec::new();
    let mut query = "limit=3".to_owned();
    loop {
        let next = page(&server, &query).await;
        seen.push(keys(&next));
        let Some(cursor) = next["next_cursor"].as_str() else {
            break;
        };
        query = format!("limit=3&cursor={cursor}");
        assert!(
            cursor
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
        );
    }
    assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    let mut all = seen.concat();
    // Rows of one millisecond have no order but their own; over all pages each is there once.
    all.sort();
    assert_eq!(
        all,
        (0..7).map(|index| format!("k{index}")).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn filters_narrow_the_list() {
    let server = server().await;
    server.pushed("payment").await;
    let account = json!({"operation": {"type": "create_account", "destination": payee(), "starting_balance": "2"}});
    server.push("account", &account).await;
    assert_eq!(keys(&page(&server, "kind=payment").await), ["payment"]);
    assert_eq!(
        keys(&page(&server, "kind=create_account&status=pending").await),
        ["account"]
    );
    let none = page(&server, "status=confirmed").await;
    assert_eq!((keys(&none).len(), none.get("next_cursor")), (0, None));
    assert_eq!(
        page(&server, "limit=200").await["items"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}
