//! Submissions, their envelopes and their transitions.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{
    big_integer, big_integer_null, boolean, integer, json_binary, json_binary_null, pk_auto,
    small_integer, string_len, text, text_null, uuid, uuid_null,
};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[derive(DeriveIden)]
enum SubmissionLedger {
    Table,
    Id,
    Tenant,
    IdempotencyKey,
    Tag,
    Kind,
    Priority,
    BusinessRef,
    Payload,
    Fingerprint,
    Status,
    Verdict,
    Category,
    SourceAccount,
    Sequence,
    PairHeld,
    TransientFailures,
    Claims,
    Generation,
    Version,
    Fence,
    ClaimUntil,
    TxHash,
    LastError,
    SendState,
    SendAt,
    SendRequired,
    SendOperations,
    StopClass,
    AttemptCount,
    Evidence,
    NextAttemptAt,
    Round,
    DispatchedAt,
    CreatedAt,
    UpdatedAt,
}

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

#[derive(DeriveIden)]
enum SubmissionLog {
    Table,
    Id,
    SubmissionId,
    Version,
    Event,
    FromStatus,
    ToStatus,
    Verdict,
    Actor,
    Detail,
    At,
}

/// Indexes that need a condition or an order, in SQL that both databases read alike.
const INDEXES: &[&str] = &[
    "CREATE UNIQUE INDEX submission_ledger_key ON submission_ledger (tenant, idempotency_key)",
    // No two live submissions hold the same pair, whatever else goes wrong.
    "CREATE UNIQUE INDEX submission_ledger_pair ON submission_ledger (source_account, sequence) WHERE pair_held",
    "CREATE INDEX submission_ledger_due ON submission_ledger (priority, created_at, id) WHERE status = 'pending'",
    "CREATE INDEX submission_ledger_indeterminate ON submission_ledger (updated_at) WHERE verdict = 'INDETERMINATE'",
    "CREATE INDEX submission_ledger_tenant ON submission_ledger (tenant, created_at, id)",
    "CREATE INDEX submission_attempts_submission ON submission_attempts (submission_id, id)",
    "CREATE INDEX submission_attempts_live ON submission_attempts (submission_id) WHERE NOT settled",
    "CREATE INDEX submission_attempts_inner ON submission_attempts (inner_hash)",
    "CREATE UNIQUE INDEX submission_log_version ON submission_log (submission_id, version)",
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.create_table(ledger()).await?;
        manager.create_table(attempts()).await?;
        manager.create_table(log()).await?;
        crate::run(manager, INDEXES).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .drop_table(Table::drop().table(SubmissionLog::Table).to_owned())
            .await?;
        manager
            .drop_table(Table::drop().table(SubmissionAttempts::Table).to_owned())
            .await?;
        manager
            .drop_table(Table::drop().table(SubmissionLedger::Table).to_owned())
            .await
    }
}

fn one_of(column: impl IntoIden, values: &'static [&'static str]) -> Expr {
    Expr::col(column.into_iden()).is_in(values.iter().copied())
}

const STATUSES: &[&str] = &[
    "pending",
    "building",
    "submitted",
    "confirming",
    "confirmed",
    "failed",
    "cancelled",
    "simulated",
];
const VERDICTS: &[&str] = &[
    "PENDING",
    "SUCCESS",
    "FAILED",
    "EXPIRED",
    "CANCELLED",
    "INDETERMINATE",
];
const SEND_STATES: &[&str] = &["waiting", "resend", "raise_fee", "stopped"];

fn ledger() -> TableCreateStatement {
    use SubmissionLedger as S;
    Table::create()
        .table(S::Table)
        .col(uuid(S::Id).primary_key())
        .col(string_len(S::Tenant, 64))
        .col(string_len(S::IdempotencyKey, 255))
        .col(big_integer(S::Tag))
        .col(text(S::Kind))
        .col(small_integer(S::Priority).check(Expr::col(S::Priority).between(0, 2)))
        .col(text_null(S::BusinessRef))
        .col(json_binary(S::Payload))
        .col(text(S::Fingerprint))
        .col(text(S::Status).check(one_of(S::Status, STATUSES)))
        .col(text(S::Verdict).check(one_of(S::Verdict, VERDICTS)))
        .col(text_null(S::Category))
        .col(text_null(S::SourceAccount))
        .col(big_integer_null(S::Sequence))
        .col(boolean(S::PairHeld))
        .col(integer(S::TransientFailures))
        .col(integer(S::Claims))
        .col(integer(S::Generation))
        .col(big_integer(S::Version))
        .col(uuid_null(S::Fence))
        .col(big_integer_null(S::ClaimUntil))
        .col(text_null(S::TxHash))
        .col(text_null(S::LastError))
        .col(text(S::SendState).check(one_of(S::SendState, SEND_STATES)))
        .col(big_integer_null(S::SendAt))
        .col(big_integer_null(S::SendRequired))
        .col(big_integer_null(S::SendOperations))
        .col(text_null(S::StopClass))
        .col(big_integer(S::AttemptCount))
        .col(json_binary_null(S::Evidence))
        .col(big_integer(S::NextAttemptAt))
        .col(big_integer(S::Round))
        .col(big_integer_null(S::DispatchedAt))
        .col(big_integer(S::CreatedAt))
        .col(big_integer(S::UpdatedAt))
        .to_owned()
}

fn attempts() -> TableCreateStatement {
    use SubmissionAttempts as A;
    Table::create()
        .table(A::Table)
        .col(pk_auto(A::Id).big_integer())
        .col(uuid(A::SubmissionId))
        .col(integer(A::Generation))
        .col(text(A::SourceAccount))
        .col(big_integer(A::Sequence))
        .col(text(A::Hash).unique_key())
        .col(text_null(A::InnerHash))
        .col(text(A::EnvelopeXdr))
        .col(big_integer(A::Fee))
        .col(big_integer(A::Operations))
        .col(big_integer(A::MaxTime))
        .col(big_integer(A::SentAfterLedger))
        .col(boolean(A::Settled))
        .col(big_integer(A::CreatedAt))
        .foreign_key(
            ForeignKey::create()
                .from(A::Table, A::SubmissionId)
                .to(SubmissionLedger::Table, SubmissionLedger::Id),
        )
        .to_owned()
}

fn log() -> TableCreateStatement {
    use SubmissionLog as L;
    Table::create()
        .table(L::Table)
        .col(pk_auto(L::Id).big_integer())
        .col(uuid(L::SubmissionId))
        .col(big_integer(L::Version))
        .col(text(L::Event))
        .col(text(L::FromStatus))
        .col(text(L::ToStatus))
        .col(text(L::Verdict))
        .col(text(L::Actor))
        .col(json_binary_null(L::Detail))
        .col(big_integer(L::At))
        .foreign_key(
            ForeignKey::create()
                .from(L::Table, L::SubmissionId)
                .to(SubmissionLedger::Table, SubmissionLedger::Id),
        )
        .to_owned()
}
