//! An index of the rows that wait for a later time, so that the feed can sleep until the next of them is due.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

/// A row is due as soon as it is accepted, so that only those put off are in here: accepting costs nothing more.
const INDEXES: &[&str] = &[
    "CREATE INDEX submission_ledger_later ON submission_ledger (next_attempt_at) \
     WHERE status = 'pending' AND dispatched_at IS NULL AND next_attempt_at > created_at",
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        crate::run(manager, INDEXES).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        crate::run(manager, &["DROP INDEX submission_ledger_later"]).await
    }
}
