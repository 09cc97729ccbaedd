//! Bringing the schema up and down.

use migration::{Migrator, MigratorTrait as _};
use sea_orm::{
    ConnectionTrait as _, DatabaseConnection, DbBackend, DbErr, SqliteTransactionMode,
    TransactionOptions, TransactionTrait as _,
};

use super::Ledger;
use super::db::unwritten;
use super::types::LedgerError;

/// Held while the schema changes: migrations take no lock of their own, and processes start together.
const SCHEMA_LOCK: &str = "SELECT pg_advisory_xact_lock(727465636)";

/// A migration, and whether it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    /// Its name.
    pub name: String,
    /// Whether it was applied.
    pub applied: bool,
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

impl Ledger {
    /// Brings the schema up to this version's. Processes that start together wait for each other.
    ///
    /// # Errors
    /// The database did not answer, or a migration failed; then the schema is as before.
    pub async fn migrate_up(&self) -> Result<(), LedgerError> {
        self.migrate(Direction::Up).await
    }

    /// Takes the whole schema down. All rows are lost.
    ///
    /// # Errors
    /// As [`Ledger::migrate_up`].
    pub async fn migrate_down(&self) -> Result<(), LedgerError> {
        self.migrate(Direction::Down).await
    }

    /// Which migrations there are, and which were applied.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn migration_status(&self) -> Result<Vec<MigrationStatus>, LedgerError> {
        let applied = match Migrator::get_migration_models(self.db.reader()).await {
            Ok(models) => models.into_iter().map(|model| model.version).collect(),
            // Before the first migration there is no table to ask.
            Err(DbErr::Query(_) | DbErr::Exec(_)) => Vec::new(),
            Err(error) => return Err(unwritten(&error)),
        };
        let status = |migration: Box<dyn migration::MigrationTrait>| {
            let name = migration.name().to_owned();
            MigrationStatus {
                applied: applied.contains(&name),
                name,
            }
        };
        Ok(Migrator::migrations().into_iter().map(status).collect())
    }

    /// Refuses a schema that is not this version's.
    ///
    /// # Errors
    /// [`LedgerError::Unfit`] when a migration is missing.
    pub async fn check_schema(&self) -> Result<(), LedgerError> {
        match self
            .migration_status()
            .await?
            .into_iter()
            .find(|migration| !migration.applied)
        {
            None => Ok(()),
            Some(missing) => Err(LedgerError::Unfit(format!(
                "migration {} is missing: run `tender migrate up`",
                missing.name
            ))),
        }
    }

    async fn migrate(&self, direction: Direction) -> Result<(), LedgerError> {
        let migrated = locked(self.db.reader(), direction).await;
        migrated.map_err(|error| LedgerError::Unavailable(format!("migration: {error}")))
    }
}

async fn locked(db: &DatabaseConnection, direction: Direction) -> Result<(), DbErr> {
    let immediate = TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    };
    let tx = db.begin_with_options(immediate).await?;
    if tx.get_database_backend() == DbBackend::Postgres {
        tx.execute_unprepared(SCHEMA_LOCK).await?;
    }
    match direction {
        Direction::Up => Migrator::up(&tx, None).await?,
        Direction::Down => Migrator::down(&tx, None).await?,
    }
    tx.commit().await
}
