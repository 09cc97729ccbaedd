//! The schema of the submission ledger, the same code for PostgreSQL and SQLite.
//!
//! Times are unix milliseconds of the database's clock. JSON is kept as text: it must come back as it was written, and
//! PostgreSQL's binary form cannot hold every string that JSON can. Hashes are hexadecimal and accounts are addresses,
//! so that staff can read a row.

mod m20261201_000001_submission_ledger;
mod m20261201_000002_submission_attempts;
mod m20261201_000003_submission_log;
mod m20261201_000004_channel_accounts;
mod m20261201_000005_api_keys;
mod m20261201_000006_reconciler_progress;
mod m20261203_000007_later;
mod m20261203_000008_ledger_memory;
mod m20261203_000009_outbox;

pub use sea_orm_migration::MigratorTrait;
use sea_orm_migration::{MigrationTrait, SchemaManager, prelude::async_trait};
use sea_orm_migration::{prelude::*, sea_orm};

/// All migrations.
#[derive(Clone, Copy, Debug)]
pub struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m20261201_000001_submission_ledger::Migration),
            Box::new(m20261201_000002_submission_attempts::Migration),
            Box::new(m20261201_000003_submission_log::Migration),
            Box::new(m20261201_000004_channel_accounts::Migration),
            Box::new(m20261201_000005_api_keys::Migration),
            Box::new(m20261201_000006_reconciler_progress::Migration),
            Box::new(m20261203_000007_later::Migration),
            Box::new(m20261203_000008_ledger_memory::Migration),
            Box::new(m20261203_000009_outbox::Migration),
        ]
    }
}

/// Runs statements one by one: their SQL reads the same to both databases.
async fn run(manager: &SchemaManager<'_>, statements: &[&str]) -> Result<(), sea_orm::DbErr> {
    for statement in statements {
        manager
            .get_connection()
            .execute_unprepared(statement)
            .await?;
    }
    Ok(())
}

/// A rule of a table, in SQL that both databases read alike.
fn rule(sql: &'static str) -> sea_query::Expr {
    Expr::cust(sql)
}
