//! Opening the ledger: timeouts on everything, and no start on a database that may forget a commit.

use std::time::Duration;

use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbErr, QueryResult};

use super::reader::Reader;
use super::store::Store;
use super::types::LedgerError;
use super::writer;

/// Longest wait for a connection.
pub(super) const ACQUIRE_LIMIT: Duration = Duration::from_secs(8);
/// Longest statement on `PostgreSQL`.
const STATEMENT_LIMIT: Duration = Duration::from_secs(10);
/// Longest wait for a lock, on either database.
const LOCK_LIMIT: Duration = Duration::from_secs(5);
/// Connections that read a `SQLite` file at once.
const SQLITE_READERS: u32 = 4;

/// Opens the database of that URL.
pub(super) async fn open(url: &str, max_connections: u32) -> Result<Store, LedgerError> {
    if url.starts_with("sqlite:") {
        sqlite(url).await
    } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        // The driver knows one spelling only.
        let url = url.replacen("postgresql://", "postgres://", 1);
        postgres(&url, max_connections).await
    } else {
        Err(LedgerError::Unfit(
            "a database URL starts with sqlite:, postgres:// or postgresql://".to_owned(),
        ))
    }
}

async fn connect(options: ConnectOptions) -> Result<DatabaseConnection, LedgerError> {
    Database::connect(options).await.map_err(LedgerError::from)
}

fn options(url: &str, connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections.max(1))
        .min_connections(1)
        .acquire_timeout(ACQUIRE_LIMIT)
        .connect_timeout(ACQUIRE_LIMIT)
        .test_before_acquire_if_idle_for(Duration::from_secs(5))
        .sqlx_logging(false)
        .record_stmt_in_spans(false);
    options
}

async fn postgres(url: &str, max_connections: u32) -> Result<Store, LedgerError> {
    let durability = postgres_durability(url).await?;
    let mut options = options(url, max_connections);
    options
        .set_application_name("tender")
        .statement_timeout(STATEMENT_LIMIT)
        .map_sqlx_postgres_opts(move |options| {
            options.options([
                ("lock_timeout", LOCK_LIMIT.as_millis().to_string()),
                (
                    "idle_in_transaction_session_timeout",
                    STATEMENT_LIMIT.as_millis().to_string(),
                ),
                // Kept for the life of each connection, whatever the server is told later.
                ("synchronous_commit", durability.clone()),
            ])
        });
    Ok(Store::Postgres(Reader(connect(options).await?)))
}

/// The durability of a commit as the server, the database, the role or the URL set it.
async fn postgres_durability(url: &str) -> Result<String, LedgerError> {
    let probe = connect(options(url, 1)).await?;
    let durability = setting(&probe, "SHOW synchronous_commit").await?;
    let fsync = setting(&probe, "SHOW fsync").await?;
    probe.close().await?;
    if !matches!(durability.as_str(), "on" | "remote_apply") {
        return Err(LedgerError::Unfit(format!(
            "synchronous_commit is {durability}: a commit could be lost, here or by a failover, after its envelope \
             was sent; set it to on"
        )));
    }
    if fsync == "off" {
        tracing::warn!(
            "the database runs with fsync off: a power failure can lose commits, so use it for tests only"
        );
    }
    Ok(durability)
}

async fn setting(db: &DatabaseConnection, sql: &str) -> Result<String, LedgerError> {
    let row = one_row(db, sql).await?;
    Ok(row.try_get_by_index(0)?)
}

async fn one_row(db: &DatabaseConnection, sql: &str) -> Result<QueryResult, LedgerError> {
    let statement = sea_orm::Statement::from_string(db.get_database_backend(), sql);
    db.query_one_raw(statement)
        .await?
        .ok_or_else(|| LedgerError::from(DbErr::RecordNotFound(sql.to_owned())))
}

async fn sqlite(url: &str) -> Result<Store, LedgerError> {
    if url.contains(":memory:") || url.contains("mode=memory") {
        return Err(LedgerError::Unfit(
            "a database in memory forgets everything: name a file".to_owned(),
        ));
    }
    let mut options = options(url, 1);
    options
        .map_sqlx_sqlite_opts(|options| {
            options
                .create_if_missing(true)
                .foreign_keys(true)
                .busy_timeout(LOCK_LIMIT)
                .pragma("journal_mode", "WAL")
                .pragma("synchronous", "FULL")
        })
        // The writer is one connection for ever: closing it would check the whole log into the file.
        .idle_timeout(None)
        .max_lifetime(None);
    let write = connect(options.clone()).await?;
    sqlite_durability(&write).await?;
    options
        .max_connections(SQLITE_READERS)
        .map_sqlx_sqlite_opts(|options| {
            options.busy_timeout(LOCK_LIMIT).pragma("query_only", "ON")
        });
    let readers = Reader(connect(options).await?);
    Ok(Store::Sqlite {
        writer: writer::start(write),
        readers,
    })
}

/// Some file systems cannot do what was asked for, and `SQLite` goes on without a word.
async fn sqlite_durability(db: &DatabaseConnection) -> Result<(), LedgerError> {
    const FULL: i32 = 2;
    let synchronous: i32 = one_row(db, "PRAGMA synchronous")
        .await?
        .try_get_by_index(0)?;
    let journal: String = one_row(db, "PRAGMA journal_mode")
        .await?
        .try_get_by_index(0)?;
    if synchronous < FULL || !journal.eq_ignore_ascii_case("wal") {
        return Err(LedgerError::Unfit(format!(
            "the file's journal is {journal} with synchronous={synchronous}, but wal with 2 (FULL) is needed"
        )));
    }
    Ok(())
}
