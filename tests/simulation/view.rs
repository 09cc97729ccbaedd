//! The ledger's tables as they are, read behind the service's back.

use std::collections::BTreeMap;

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement};

/// A row, without what differs from run to run: its identity, its fence and its times.
#[derive(Clone, Debug)]
pub struct Row {
    pub key: String,
    pub status: String,
    pub verdict: String,
    pub held: bool,
    pub account: Option<String>,
    pub sequence: Option<i64>,
    pub version: i64,
    pub generation: i32,
    pub last_error: Option<String>,
    /// Lines of its log, the last version in it, and how many of them record an envelope.
    pub log: (i64, i64, i64),
    pub attempts: i64,
    counters: String,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub rows: Vec<Row>,
    /// Channel accounts by state.
    pub channels: BTreeMap<String, i64>,
}

const ROWS: &str = "SELECT s.*, \
    (SELECT count(*) FROM submission_log l WHERE l.submission_id = s.id) AS log_lines, \
    (SELECT coalesce(max(version), 0) FROM submission_log l WHERE l.submission_id = s.id) AS log_last, \
    (SELECT count(*) FROM submission_log l WHERE l.submission_id = s.id AND event = 'envelope_recorded') AS log_recorded, \
    (SELECT count(*) FROM submission_attempts a WHERE a.submission_id = s.id) AS recorded \
    FROM submission_ledger s ORDER BY s.idempotency_key";

impl View {
    pub async fn of(db: &DatabaseConnection) -> Self {
        let rows = all(db, ROWS).await;
        let channels = "SELECT state, count(*) AS number FROM channel_accounts GROUP BY state";
        let channels = all(db, channels).await;
        Self {
            rows: rows.iter().map(Row::read).collect(),
            channels: channels
                .iter()
                .map(|row| (get(row, "state"), get(row, "number")))
                .collect(),
        }
    }

    pub fn row(&self, key: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.key == key)
    }

    /// Keys of the rows that stand so.
    pub fn with_status(&self, status: &str) -> Vec<String> {
        let rows = self.rows.iter().filter(|row| row.status == status);
        rows.map(|row| row.key.clone()).collect()
    }
}

impl Row {
    fn read(row: &QueryResult) -> Self {
        let number = |column| get::<i32>(row, column);
        Self {
            key: get(row, "idempotency_key"),
            status: get(row, "status"),
            verdict: get(row, "verdict"),
            held: get(row, "pair_held"),
            account: get(row, "source_account"),
            sequence: get(row, "sequence"),
            version: get(row, "version"),
            generation: number("generation"),
            last_error: get(row, "last_error"),
            log: (
                get(row, "log_lines"),
                get(row, "log_last"),
                get(row, "log_recorded"),
            ),
            attempts: get(row, "recorded"),
            counters: format!(
                "failures {} claims {} sending {}",
                number("transient_failures"),
                number("claims"),
                get::<String>(row, "send_state"),
            ),
        }
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self.status.as_str(), "confirmed" | "failed" | "cancelled")
    }

    pub fn is_indeterminate(&self) -> bool {
        self.verdict == "INDETERMINATE"
    }

    /// As the trace tells it.
    pub fn told(&self) -> String {
        let account = self.account.as_deref().map_or("-", |account| &account[..6]);
        format!(
            "  {} {} {} v{} g{} {}{}:{} recorded {} {} {}",
            self.key,
            self.status,
            self.verdict,
            self.version,
            self.generation,
            if self.held { "holds " } else { "held " },
            account,
            self.sequence.map_or(0, |sequence| sequence & 0xffff),
            self.attempts,
            self.counters,
            self.last_error.as_deref().unwrap_or("-"),
        )
    }
}

async fn all(db: &DatabaseConnection, sql: &str) -> Vec<QueryResult> {
    let statement = Statement::from_string(DbBackend::Sqlite, sql);
    db.query_all_raw(statement).await.unwrap()
}

fn get<T: sea_orm::TryGetable>(row: &QueryResult, column: &str) -> T {
    row.try_get("", column).unwrap()
}
