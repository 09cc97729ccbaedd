//! Every envelope, recorded before it is sent. Rows are never deleted.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{
    big_integer, big_pk_auto, boolean, integer, text, text_null, uuid,
};

use crate::m20261201_000001_submission_ledger::SubmissionLedger;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[derive(DeriveIden)]
enum SubmissionAttempts {
    Table,
    Id,
    SubmissionId,
    Generation,
    SourceAccount,
    Sequence,
    Hash,
    InnerHash,
    EnvelopeXdr,
    Fee,
    Operations,
    MaxTime,
    SentAfterLedger,
    Settled,
    CreatedAt,
}

const INDEXES: &[&str] = &[
    "CREATE UNIQUE INDEX submission_attempts_hash ON submission_attempts (hash)",
    "CREATE INDEX submission_attempts_inner ON submission_attempts (inner_hash) WHERE inner_hash IS NOT NULL",
    "CREATE INDEX submission_attempts_submission ON submission_attempts (submission_id, id)",
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        use SubmissionAttempts as A;
        let table = Table::create()
            .table(A::Table)
            .col(big_pk_auto(A::Id))
            .col(uuid(A::SubmissionId))
            .col(integer(A::Generation))
            .col(text(A::SourceAccount))
            .col(big_integer(A::Sequence))
            .col(text(A::Hash))
            .col(text_null(A::InnerHash))
            .col(text(A::EnvelopeXdr))
            .col(big_integer(A::Fee))
            .col(big_integer(A::Operations))
            .col(big_integer(A::MaxTime))
            .col(big_integer(A::SentAfterLedger))
            .col(boolean(A::Settled))
            .col(big_integer(A::CreatedAt))
            // Rule: every envelope expires, or its death could never be proven.
            .check(crate::rule("max_time > 0"))
            .foreign_key(
                ForeignKey::create()
                    .name("submission_attempts_of")
                    .from(A::Table, A::SubmissionId)
                    .to(SubmissionLedger::Table, SubmissionLedger::Id),
            )
            .to_owned();
        manager.create_table(table).await?;
        crate::run(manager, INDEXES).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .drop_table(Table::drop().table(SubmissionAttempts::Table).to_owned())
            .await
    }
}
