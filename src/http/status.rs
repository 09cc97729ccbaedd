//! The status of a transaction, for frontends: public, since the id cannot be guessed.

use std::sync::Arc;
use std::time::Duration;

use poem::http::HeaderMap;
use poem::http::header;
use poem::web::Data;
use poem_openapi::param::{Header, Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, OpenApi};
use uuid::Uuid;

use crate::domain::ids::{SubmissionId, Version};
use crate::ledger::Submission;

use super::Shared;
use super::patience::reading;
use super::refusal::StatusRefused;
use super::resource::TransactionStatus;
use super::transactions::no_such_transaction;

const NO_CACHE: &str = "no-cache";

/// The operations of frontends.
pub struct Statuses;

/// The status of a transaction.
#[derive(ApiResponse)]
pub enum StatusAnswer {
    /// Where it stands.
    #[oai(status = 200)]
    Now(
        Json<TransactionStatus>,
        /// Version of the transaction.
        #[oai(header = "ETag")]
        String,
        /// `no-cache`: ask again before using it.
        #[oai(header = "Cache-Control")]
        String,
        /// Seconds to wait before the next poll; absent once the status is terminal.
        #[oai(header = "Retry-After")]
        Option<u64>,
    ),
    /// It is what the caller has.
    #[oai(status = 304)]
    NotModified(
        /// Version of the transaction.
        #[oai(header = "ETag")]
        String,
        /// `no-cache`: ask again before using it.
        #[oai(header = "Cache-Control")]
        String,
        /// Seconds to wait before the next poll; absent once the status is terminal.
        #[oai(header = "Retry-After")]
        Option<u64>,
    ),
}

#[OpenApi]
impl Statuses {
    /// Poll the status of a transaction.
    ///
    /// Public. Answers that are not terminal say when to come back. With `wait` the answer is held back until the
    /// status changes: from the version in `If-None-Match`, or from what it is now.
    #[oai(
        path = "/transactions/:id/status",
        method = "get",
        operation_id = "pollStatus"
    )]
    async fn poll(
        &self,
        id: Path<Uuid>,
        /// Seconds to wait for a change, at most 30.
        #[oai(validator(maximum(value = "30")))]
        wait: Query<Option<u64>>,
        /// The `ETag` of the answer the caller has.
        #[oai(name = "If-None-Match")]
        _if_none_match: Header<Option<String>>,
        headers: &HeaderMap,
        app: Data<&Arc<Shared>>,
    ) -> Result<StatusAnswer, StatusRefused> {
        let id = SubmissionId(id.0);
        let mut row = find(app.0, id).await?;
        let stale = known(headers, row.version);
        let seen = headers.contains_key(header::IF_NONE_MATCH);
        // Whoever shows another version than the current one has a change to hear of at once.
        let news = seen && !stale;
        if let Some(seconds) = wait.0
            && !news
            && !row.state.status.is_terminal()
        {
            app.watch
                .changed(id, row.version, Duration::from_secs(seconds))
                .await;
            row = find(app.0, id).await?;
        }
        let retry_after = (!row.state.status.is_terminal()).then_some(app.settings.poll_seconds);
        Ok(if known(headers, row.version) {
            StatusAnswer::NotModified(etag(row.version), NO_CACHE.to_owned(), retry_after)
        } else {
            let status = Json(TransactionStatus::from(&row));
            StatusAnswer::Now(status, etag(row.version), NO_CACHE.to_owned(), retry_after)
        })
    }
}

async fn find(app: &Shared, id: SubmissionId) -> Result<Submission, StatusRefused> {
    let row = reading(app.ledger.submission(id)).await?;
    row.ok_or_else(|| no_such_transaction().into())
}

fn etag(version: Version) -> String {
    format!("\"{}\"", version.0)
}

/// Whether the caller has that version. `If-None-Match` compares weakly (RFC 9110, section 13.1.2).
fn known(headers: &HeaderMap, version: Version) -> bool {
    let current = etag(version);
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == current)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_by_its_tag() {
        let headers = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, text.parse().expect("a header"));
            headers
        };
        for text in ["\"7\"", "W/\"7\"", "\"6\", \"7\"", "*"] {
            assert!(known(&headers(text), Version(7)), "{text}");
        }
        for text in ["\"8\"", "7", "", "\"77\""] {
            assert!(!known(&headers(text), Version(7)), "{text}");
        }
        assert!(!known(&HeaderMap::new(), Version(7)));
    }
}
