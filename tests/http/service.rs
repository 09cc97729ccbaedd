use serde_json::Value;

use crate::support::{body, header, server};

#[tokio::test]
async fn the_document_is_served_as_json_and_as_a_page() {
    let server = server().await;
    let get = |path: &str| server.client.get(format!("{}{path}", server.url)).send();
    let document = get("/openapi.json").await.expect("an answer");
    assert_eq!(header(&document, "content-type"), Some("application/json"));
    let document: Value = body(document).await;
    assert!(document["paths"]["/transactions/{id}/status"]["get"].is_object());
    let page = get("/docs").await.expect("an answer");
    assert_eq!(
        header(&page, "content-type"),
        Some("text/html; charset=utf-8")
    );
    let page = page.text().await.expect("a page");
    assert!(
        page.contains("pushTransaction") && !page.contains("<script src="),
        "needs no other host"
    );
}
