//! The ledger's rows and log, read without any code of the service.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::deployment::Deployment;

/// A row of the submission ledger.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    pub id: String,
    pub idempotency_key: String,
    pub status: String,
    pub verdict: String,
    pub version: i64,
    pub pair_held: bool,
    pub tx_hash: Option<String>,
}

/// A line of its log.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    pub submission_id: String,
    pub version: i64,
    pub event: String,
    pub from_status: String,
    pub to_status: String,
}

pub fn rows(deployment: &Deployment) -> BTreeMap<String, Row> {
    let columns = "id, idempotency_key, status, verdict, version, pair_held, tx_hash";
    let sql = format!("SELECT {columns} FROM submission_ledger");
    let rows: Vec<Row> = read(deployment, &sql);
    rows.into_iter().map(|row| (row.id.clone(), row)).collect()
}

/// Lines by submission, in the order of their versions.
pub fn log(deployment: &Deployment) -> BTreeMap<String, Vec<Line>> {
    let columns = "submission_id, version, event, from_status, to_status";
    let sql = format!("SELECT {columns} FROM submission_log ORDER BY submission_id, version");
    let mut by_row: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in read::<Line>(deployment, &sql) {
        by_row
            .entry(line.submission_id.clone())
            .or_default()
            .push(line);
    }
    by_row
}

fn read<T: DeserializeOwned>(deployment: &Deployment, query: &str) -> Vec<T> {
    let sql = format!("SELECT coalesce(json_agg(t), '[]') FROM ({query}) t");
    let text = deployment.postgres.psql(&deployment.database, &sql);
    serde_json::from_str(&text).expect("PostgreSQL writes JSON")
}
