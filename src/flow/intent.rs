//! An intent of the outbox, held to the same rules as a request over HTTP. One that breaks them is refused with the code
//! that HTTP answers.

use crate::domain::key::{BadName, IdempotencyKey, Tenant};
use crate::flow::accept::{self, KeyFault};
use crate::flow::json;
use crate::ledger::outbox::{Intent, Judge, Refused};
use crate::ledger::{NewSubmission, Submission};

/// Largest payload, in bytes. The schema says so too.
pub const MAX_PAYLOAD: usize = 64 * 1024;
/// Longest reason, in characters. Well below what the schema takes.
const MAX_DETAIL: usize = 2_000;

/// The rules of the relay.
pub const JUDGE: Judge = Judge {
    check: of_row,
    compare,
};

fn of_row(intent: &Intent) -> Result<NewSubmission, Refused> {
    check(&intent.tenant, intent.key.as_deref(), &intent.payload)
}

/// Checks an intent.
///
/// # Errors
/// Why it is refused.
pub fn check(tenant: &[u8], key: Option<&[u8]>, payload: &[u8]) -> Result<NewSubmission, Refused> {
    let tenant: Tenant =
        name(tenant).map_err(|fault| refused("invalid_tenant", &format!("`tenant` {fault}")))?;
    if payload.len() > MAX_PAYLOAD {
        let detail = format!("the payload is larger than {MAX_PAYLOAD} bytes");
        return Err(refused("payload_too_large", &detail));
    }
    let body = json::read(payload).map_err(|fault| refused("invalid_json", &fault))?;
    let request =
        accept::parse(&body).map_err(|bad| refused("invalid_payload", &bad.to_string()))?;
    let key = key.map(name::<IdempotencyKey>).transpose();
    let key = key.map_err(|fault| {
        let detail = format!("`idempotency_key` {fault}");
        refused("invalid_idempotency_key", &detail)
    })?;
    let key =
        accept::resolve_key(key, request.derived_key.clone()).map_err(|fault| match fault {
            KeyFault::Missing => refused(
                "missing_idempotency_key",
                "set `idempotency_key`, or `key_parts` in the payload",
            ),
            KeyFault::Mismatch => refused(
                "idempotency_key_mismatch",
                "`idempotency_key` and `key_parts` name different keys; set one of them",
            ),
        })?;
    Ok(accept::submission(tenant, key, &request))
}

fn name<T: std::str::FromStr<Err = BadName>>(bytes: &[u8]) -> Result<T, BadName> {
    std::str::from_utf8(bytes)
        .map_err(|_| BadName::Unprintable)?
        .parse()
}

fn compare(stored: &Submission, new: &NewSubmission) -> Result<(), Refused> {
    let pointers = accept::conflict(stored, new);
    if pointers.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "the key was used for another request before; they differ at {}",
        pointers.join(", ")
    );
    Err(refused("idempotency_key_reused", &detail))
}

/// Names of members come from the caller: a reason is bounded, and holds nothing that a database or a terminal minds.
fn refused(code: &'static str, detail: &str) -> Refused {
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    Refused {
        code,
        detail: detail.chars().map(printable).take(MAX_DETAIL).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Bytes<'a> = &'a [u8];

    const GOOD: &str = r#"{"operation": {"type": "payment", "asset": "native", "amount": "1",
        "destination": "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"}}"#;

    fn code(tenant: &[u8], key: Option<&[u8]>, payload: &[u8]) -> &'static str {
        check(tenant, key, payload).map_or_else(|refused| refused.code, |_| "good")
    }

    #[test]
    fn what_is_wrong_has_the_code_that_http_answers() {
        let (key, good) = (Some(b"key".as_slice()), GOOD.as_bytes());
        let parts = GOOD.replacen(
            '{',
            r#"{"key_parts": {"logical_operation": "rent", "business_id": "7", "period": "1"}, "#,
            1,
        );
        let parts = parts.as_bytes();
        let large = format!("{GOOD}{}", " ".repeat(MAX_PAYLOAD));
        let table: [(_, Bytes, Option<Bytes>, Bytes); _] = [
            ("good", b"shop", key, good),
            ("good", b"shop", None, parts),
            ("invalid_tenant", b"", key, good),
            ("invalid_tenant", b"a b", key, good),
            ("invalid_tenant", b"\xff", key, good),
            ("payload_too_large", b"shop", key, large.as_bytes()),
            ("invalid_json", b"shop", key, b""),
            ("invalid_json", b"shop", key, b"\xff"),
            (
                "invalid_json",
                b"shop",
                key,
                br#"{"operation": {}, "operation": {}}"#,
            ),
            ("invalid_payload", b"shop", key, b"[]"),
            ("invalid_payload", b"shop", key, b"{}"),
            ("invalid_idempotency_key", b"shop", Some(b""), good),
            ("invalid_idempotency_key", b"shop", Some(&[b'k'; 256]), good),
            ("invalid_idempotency_key", b"shop", Some(b"\xff"), good),
            ("missing_idempotency_key", b"shop", None, good),
            ("idempotency_key_mismatch", b"shop", key, parts),
        ];
        for (expected, tenant, key, payload) in table {
            let text = String::from_utf8_lossy(payload);
            assert_eq!(
                code(tenant, key, payload),
                expected,
                "{tenant:?} {key:?} {text}"
            );
        }
    }

    #[test]
    fn a_reason_is_bounded_and_printable_whatever_members_are_called() {
        let payload = format!(r#"{{"\u0000\u001b{}": 1}}"#, "n".repeat(10_000));
        let refused = check(b"shop", Some(b"key"), payload.as_bytes()).expect_err("no request");
        assert_eq!(refused.detail.chars().count(), MAX_DETAIL);
        assert!(!refused.detail.chars().any(char::is_control));
        assert!(
            refused.detail.contains("\u{fffd}\u{fffd}nnn"),
            "{}",
            refused.detail
        );
    }
}
