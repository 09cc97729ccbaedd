//! Requests that fail before their payload is looked at: keys, headers, bytes.

use reqwest::RequestBuilder;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Server, payment, problem, server};

fn raw(server: &Server, bytes: Vec<u8>) -> RequestBuilder {
    server
        .client
        .post(format!("{}/transactions", server.url))
        .bearer_auth(&server.token)
        .header(CONTENT_TYPE, "application/json")
        .body(bytes)
}

/// Bodies that are no JSON, or JSON that two readers could read differently.
fn bodies() -> Vec<(Vec<u8>, u16, &'static str)> {
    let good = payment().to_string();
    let json = |text: &str| text.as_bytes().to_vec();
    let twice = good.replacen('{', r#"{"priority":"LOW","priority":"CRITICAL","#, 1);
    let escaped = good.replacen('{', r#"{"priority":"LOW","priorit\u0079":"CRITICAL","#, 1);
    let inner = good.replacen(r#""amount""#, r#""amount":"1","amount""#, 1);
    let mut latin = json(&good);
    latin.extend_from_slice(b"\xff");
    let deep = |levels: usize| {
        format!(
            r#"{{"operation":{}{}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    let invalid = (400, "invalid_json");
    let rows = [
        (Vec::new(), invalid),
        (json("  "), invalid),
        (json("{"), invalid),
        (json("nonsense"), invalid),
        (json("{'operation':1}"), invalid),
        (json(&good[..good.len() - 1]), invalid),
        (json(&format!("{good}{good}")), invalid),
        (json(&format!("{good},")), invalid),
        (json(&twice), invalid),
        (json(&escaped), invalid),
        (json(&inner), invalid),
        (latin, invalid),
        (b"{\"operation\":\"\xc3\x28\"}".to_vec(), invalid),
        (b"\xff\xfe{\0}\0".to_vec(), invalid),
        (b"\xef\xbb\xbf{}".to_vec(), invalid),
        (b"{\"a\0b\":1}".to_vec(), invalid),
        (json(r#"{"operation":"\ud800"}"#), invalid),
        (json(r#"{"amount":1e999}"#), invalid),
        (json(&deep(100)), invalid),
        (json(&deep(20_000)), invalid),
        (vec![b' '; 64 * 1024 + 1], (413, "payload_too_large")),
        (vec![b'['; 3 * 1024 * 1024], (413, "payload_too_large")),
    ];
    rows.into_iter()
        .map(|(bytes, (status, code))| (bytes, status, code))
        .collect()
}

#[tokio::test]
async fn bytes_that_are_no_request_are_refused_and_leave_their_key_usable() {
    let server = server().await;
    let rows = bodies();
    for (index, (bytes, status, code)) in rows.iter().enumerate() {
        let sent = raw(&server, bytes.clone()).header("Idempotency-Key", format!("raw-{index}"));
        problem(sent.send().await.expect("an answer"), *status, code).await;
    }
    assert_eq!(server.rows().await, 0, "nothing was written");
    for index in 0..rows.len() {
        let response = server.push(&format!("raw-{index}"), &payment()).await;
        assert_eq!(
            response.status().as_u16(),
            202,
            "the key of row {index} is still free"
        );
    }
}

#[tokio::test]
async fn keys_that_cannot_be_are_refused() {
    let server = server().await;
    let send = |key: &'static [u8]| {
        let key = HeaderValue::from_bytes(key).expect("a header");
        server
            .post("/transactions", &payment())
            .header("Idempotency-Key", key)
            .send()
    };
    let long: &'static [u8] = "k".repeat(256).leak().as_bytes();
    for key in [
        &b""[..],
        b"a b",
        b"a\tb",
        "schl\u{fc}ssel".as_bytes(),
        b"\xff",
        long,
    ] {
        problem(
            send(key).await.expect("an answer"),
            400,
            "invalid_idempotency_key",
        )
        .await;
    }
    let missing = server.post("/transactions", &payment()).send().await;
    problem(missing.expect("an answer"), 400, "missing_idempotency_key").await;
    let twice = server
        .post("/transactions", &payment())
        .header("Idempotency-Key", "one")
        .header("Idempotency-Key", "two");
    problem(
        twice.send().await.expect("an answer"),
        400,
        "invalid_idempotency_key",
    )
    .await;
    assert_eq!(server.rows().await, 0, "nothing was written");
    let longest: &'static [u8] = "k".repeat(255).leak().as_bytes();
    assert_eq!(
        send(longest).await.expect("an answer").status().as_u16(),
        202
    );
}

#[tokio::test]
async fn bodies_must_be_sent_as_json() {
    let server = server().await;
    let send = |kind: &'static str| {
        raw(&server, payment().to_string().into_bytes())
            .header("Idempotency-Key", "k")
            .header(CONTENT_TYPE, kind)
    };
    // The client appends headers, so a second type follows the first: build without the first one.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/xml",
        "application/json; charset=utf-16",
        "nonsense",
    ] {
        let request = server
            .client
            .post(format!("{}/transactions", server.url))
            .bearer_auth(&server.token)
            .header("Idempotency-Key", "k")
            .header(CONTENT_TYPE, kind)
            .body(payment().to_string());
        problem(
            request.send().await.expect("an answer"),
            415,
            "unsupported_media_type",
        )
        .await;
    }
    let untyped = server
        .client
        .post(format!("{}/transactions", server.url))
        .bearer_auth(&server.token)
        .header("Idempotency-Key", "k")
        .body(payment().to_string());
    problem(
        untyped.send().await.expect("an answer"),
        415,
        "unsupported_media_type",
    )
    .await;
    let packed = send("application/json").header(CONTENT_ENCODING, "gzip");
    problem(
        packed.send().await.expect("an answer"),
        415,
        "unsupported_media_type",
    )
    .await;
    assert_eq!(server.rows().await, 0, "nothing was written");
}

/// Sends bytes as they are and reads the answer until the server closes.
async fn wire(server: &Server, bytes: &[u8]) -> String {
    let address = server.url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(bytes).await.expect("written");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("read");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_body_of_unknown_length_is_read_within_the_limit() {
    let server = server().await;
    let good = payment().to_string();
    let head = format!(
        "POST /transactions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nIdempotency-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.token
    );
    let chunk = |body: &str| format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let large = wire(
        &server,
        format!("{head}{}", chunk(&" ".repeat(70_000))).as_bytes(),
    )
    .await;
    assert!(
        large.starts_with("HTTP/1.1 413") && large.contains("payload_too_large"),
        "{large}"
    );
    let fits = wire(&server, format!("{head}{}", chunk(&good)).as_bytes()).await;
    assert!(fits.starts_with("HTTP/1.1 202"), "{fits}");
}

#[tokio::test]
async fn what_is_no_http_gets_no_text() {
    let server = server().await;
    for bytes in [
        &b"NONSENSE\r\n\r\n"[..],
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n",
    ] {
        let answer = wire(&server, bytes).await.to_lowercase();
        assert!(
            answer.starts_with("http/1.1 400") && !answer.contains("text/"),
            "{answer}"
        );
    }
}
