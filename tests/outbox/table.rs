//! The table as a caller in any language sees it.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::{ConnectionTrait, DatabaseConnection, Statement, Value};
use serde_json::json;
use tender::domain::ids::AccountId;
use tender::flow::relay::Relay;
use tender::ledger::Ledger;
use tender::metrics::Metrics;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::bed::Bed;

/// Longer than any test: what has to wait for it fails.
pub const NEVER: Duration = Duration::from_secs(86_400);

/// A request for a payment of so many stroops.
pub fn payment(stroops: u32) -> serde_json::Value {
    json!({"operation": {
        "type": "payment",
        "destination": AccountId([7; 32]).to_string(),
        "asset": "native",
        "amount": format!("0.{stroops:07}"),
    }})
}

/// What a relay has counted and whom it wakes.
pub struct Told {
    pub metrics: Arc<Metrics>,
    pub feed: Arc<Notify>,
}

impl Told {
    pub fn counted(&self, outcome: &str) -> Option<u64> {
        let line = format!("outbox_intents_total{{outcome=\"{outcome}\"}} ");
        let text = self.metrics.render().unwrap();
        text.lines()
            .find_map(|found| found.strip_prefix(&line)?.parse().ok())
    }
}

/// A relay that looks when it is asked to, and at announcements.
pub fn relay(ledger: &Ledger) -> (Relay, Told) {
    let told = Told {
        metrics: Arc::new(Metrics::new().unwrap()),
        feed: Arc::new(Notify::new()),
    };
    let (metrics, feed) = (Arc::clone(&told.metrics), Arc::clone(&told.feed));
    (Relay::new(ledger.clone(), metrics, feed, NEVER), told)
}

/// What became of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub state: String,
    pub submission: Option<Uuid>,
    pub code: Option<String>,
    pub detail: Option<String>,
}

/// A caller's own connection.
pub struct Caller(pub DatabaseConnection);

impl Caller {
    pub async fn of(bed: &Bed) -> Self {
        Self(bed.raw().await)
    }

    pub async fn write(&self, tenant: &str, key: Option<&str>, payload: &str) {
        let sql = "INSERT INTO outbox (tenant, idempotency_key, payload) VALUES ($1, $2, $3)";
        let values: [Value; 3] = [tenant.into(), key.into(), payload.into()];
        let backend = self.0.get_database_backend();
        let statement = Statement::from_sql_and_values(backend, sql, values);
        self.0.execute_raw(statement).await.unwrap();
    }

    /// A payment of that tenant `acme`.
    pub async fn pays(&self, key: &str, stroops: u32) {
        self.write("acme", Some(key), &payment(stroops).to_string())
            .await;
    }

    /// All rows, in the order in which they were written.
    pub async fn rows(&self) -> Vec<Row> {
        let sql =
            "SELECT state, submission_id, refused_code, refused_detail FROM outbox ORDER BY id";
        let statement = Statement::from_string(self.0.get_database_backend(), sql);
        let rows = self.0.query_all_raw(statement).await.unwrap();
        rows.iter()
            .map(|row| Row {
                state: row.try_get("", "state").unwrap(),
                submission: row.try_get("", "submission_id").unwrap(),
                code: row.try_get("", "refused_code").unwrap(),
                detail: row.try_get("", "refused_detail").unwrap(),
            })
            .collect()
    }

    /// State and code of each.
    pub async fn outcomes(&self) -> Vec<(String, Option<String>)> {
        let rows = self.rows().await;
        rows.into_iter().map(|row| (row.state, row.code)).collect()
    }
}

pub fn accepted() -> (String, Option<String>) {
    ("accepted".to_owned(), None)
}

pub fn refused(code: &str) -> (String, Option<String>) {
    ("refused".to_owned(), Some(code.to_owned()))
}

pub fn new() -> (String, Option<String>) {
    ("new".to_owned(), None)
}
