//! The schema of the submission ledger, the same for PostgreSQL and SQLite.
//!
//! Times are unix milliseconds of the database's clock.

mod m20261201_000001_submission_ledger;
mod m20261201_000002_channel_accounts;
mod m20261201_000003_api_keys;

pub use sea_orm_migration::prelude::*;

/// All migrations, oldest first.
pub struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m20261201_000001_submission_ledger::Migration),
            Box::new(m20261201_000002_channel_accounts::Migration),
            Box::new(m20261201_000003_api_keys::Migration),
        ]
    }
}

/// Runs statements one by one: their SQL is the same on both databases.
async fn run(manager: &SchemaManager<'_>, statements: &[&str]) -> Result<(), DbErr> {
    for statement in statements {
        manager
            .get_connection()
            .execute_unprepared(statement)
            .await?;
    }
    Ok(())
}
