//! The schema, up and down. Processes that start together take turns, and a migration that fails leaves nothing behind.

use std::time::Duration;

use futures::FutureExt;
use migration::{Migrator, MigratorTrait};
use sea_orm::sea_query::Expr;
use sea_orm::{
    ConnectionTrait, DatabaseTransaction, DbBackend, EntityTrait, QueryFilter, QuerySelect,
};

use super::claim::lock;
use super::entity::{outbox, submission};
use super::types::LedgerError;
use super::{Ledger, memory};

/// Key of the lock under which the schema changes.
const SCHEMA_LOCK: i64 = 0x7465_6e64_0020;
/// Longest migration, waiting for others included.
const LIMIT: Duration = Duration::from_secs(600);

/// The first so many migrations make the tables that remember what was paid.
const MEMORY: usize = 4;

/// With this many migrations the ledger knows whether it was set back.
const DOUBT: usize = 8;

/// With this many migrations there is an outbox.
const OUTBOX: usize = 9;

/// A migration, and whether the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    /// Its name.
    pub name: String,
    /// Whether it is applied.
    pub applied: bool,
}

impl Ledger {
    /// Applies every migration that the database lacks, all or none of them.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn migrate_up(&self) -> Result<(), LedgerError> {
        self.store
            .write_within(
                LIMIT,
                Box::new(|tx| {
                    async move {
                        alone(tx).await?;
                        Ok(step!("migrate.apply", Migrator::up(tx, None).await)?)
                    }
                    .boxed()
                }),
            )
            .await
    }

    /// Takes the last `steps` migrations back, or all of them. Refused while there are submissions: keys that were paid
    /// must never be forgotten. Also while the outbox holds intents that were not taken in.
    ///
    /// # Errors
    /// [`LedgerError`]; [`LedgerError::Unfit`] while there are submissions.
    pub async fn migrate_down(&self, steps: Option<u32>) -> Result<(), LedgerError> {
        self.store
            .write_within(
                LIMIT,
                Box::new(move |tx| {
                    async move {
                        alone(tx).await?;
                        refuse_to_forget(tx, steps).await?;
                        Ok(Migrator::down(tx, steps).await?)
                    }
                    .boxed()
                }),
            )
            .await
    }

    /// The migrations, oldest first. Changes nothing.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn migration_status(&self) -> Result<Vec<MigrationStatus>, LedgerError> {
        let found = Migrator::get_migration_with_status_read_only(self.store.reader()).await?;
        Ok(found
            .iter()
            .map(|migration| MigrationStatus {
                name: migration.name().to_owned(),
                applied: migration.status().to_string() == "Applied",
            })
            .collect())
    }

    /// Refuses a schema that lacks a migration.
    ///
    /// # Errors
    /// [`LedgerError::Unfit`] names the first that is missing.
    pub async fn check_schema(&self) -> Result<(), LedgerError> {
        let status = self.migration_status().await?;
        match status.into_iter().find(|migration| !migration.applied) {
            None => Ok(()),
            Some(missing) => Err(LedgerError::Unfit(format!(
                "migration {} is missing: run `tender migrate up`",
                missing.name
            ))),
        }
    }
}

/// Waits for whoever else changes the schema. `SQLite` has one writer anyway.
async fn alone(tx: &DatabaseTransaction) -> Result<(), LedgerError> {
    if tx.get_database_backend() == DbBackend::Postgres {
        tx.execute_unprepared("SET LOCAL statement_timeout = 0")
            .await?;
        tx.execute_unprepared("SET LOCAL lock_timeout = 0").await?;
    }
    lock(tx, SCHEMA_LOCK).await
}

async fn refuse_to_forget(tx: &DatabaseTransaction, steps: Option<u32>) -> Result<(), LedgerError> {
    let applied = Migrator::get_applied_migrations_read_only(tx).await?.len();
    let steps = steps.map_or(applied, |steps| steps as usize);
    if applied >= DOUBT && applied.saturating_sub(steps) < DOUBT && memory::tells(tx).await? {
        return Err(LedgerError::Unfit(
            "the ledger's memory was lost once: taking these tables away would forget what the chain told since"
                .to_owned(),
        ));
    }
    if applied >= OUTBOX && applied.saturating_sub(steps) < OUTBOX {
        let new = outbox::Entity::find().filter(Expr::cust("state = 'new'"));
        if new.limit(1).one(tx).await?.is_some() {
            return Err(LedgerError::Unfit(
                "the outbox holds intents that were not taken in: taking it away would lose them"
                    .to_owned(),
            ));
        }
    }
    if applied == 0 || applied.saturating_sub(steps) >= MEMORY {
        return Ok(());
    }
    let any = submission::Entity::find().limit(1).one(tx).await?;
    if any.is_none() {
        return Ok(());
    }
    Err(LedgerError::Unfit(
        "the ledger holds submissions: taking its tables away would forget which keys were paid"
            .to_owned(),
    ))
}
