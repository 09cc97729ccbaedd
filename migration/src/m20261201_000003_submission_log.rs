//! Every transition, written together with it.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, big_pk_auto, text, text_null, uuid};

use crate::m20261201_000001_submission_ledger::SubmissionLedger;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[derive(DeriveIden)]
enum SubmissionLog {
    Table,
    Id,
    SubmissionId,
    Version,
    Event,
    FromStatus,
    ToStatus,
    Actor,
    Detail,
    At,
}

/// One line per version, so that no transition is logged twice.
const INDEXES: &[&str] =
    &["CREATE UNIQUE INDEX submission_log_version ON submission_log (submission_id, version)"];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        use SubmissionLog as L;
        let table = Table::create()
            .table(L::Table)
            .col(big_pk_auto(L::Id))
            .col(uuid(L::SubmissionId))
            .col(big_integer(L::Version))
            .col(text(L::Event))
            .col(text(L::FromStatus))
            .col(text(L::ToStatus))
            .col(text(L::Actor))
            .col(text_null(L::Detail))
            .col(big_integer(L::At))
            .foreign_key(
                ForeignKey::create()
                    .name("submission_log_of")
                    .from(L::Table, L::SubmissionId)
                    .to(SubmissionLedger::Table, SubmissionLedger::Id),
            )
            .to_owned();
        manager.create_table(table).await?;
        crate::run(manager, INDEXES).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .drop_table(Table::drop().table(SubmissionLog::Table).to_owned())
            .await
    }
}
