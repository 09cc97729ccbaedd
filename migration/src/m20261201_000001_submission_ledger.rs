//! One row per tenant and idempotency key.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{
    big_integer, big_integer_null, boolean, integer, small_integer, string_len, text, text_null,
    uuid, uuid_null,
};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[derive(DeriveIden)]
pub(crate) enum SubmissionLedger {
    Table,
    Id,
    Tenant,
    IdempotencyKey,
    KeyTag,
    LogicalOperation,
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
    StopCode,
    AttemptCount,
    Evidence,
    NextAttemptAt,
    DispatchRound,
    DispatchedAt,
    CreatedAt,
    UpdatedAt,
}

/// What a row must satisfy whoever writes it.
const RULES: &[&str] = &[
    "priority BETWEEN 0 AND 2",
    "status IN ('pending', 'building', 'submitted', 'confirming', 'confirmed', 'failed', 'cancelled', 'simulated')",
    "verdict IN ('PENDING', 'SUCCESS', 'FAILED', 'EXPIRED', 'CANCELLED', 'INDETERMINATE')",
    "category IS NULL OR category IN ('transient_exhausted', 'terminal', 'effect_missing')",
    "(status = 'failed') = (category IS NOT NULL)",
    "NOT pair_held OR (source_account IS NOT NULL AND sequence IS NOT NULL)",
    "NOT pair_held OR status IN ('pending', 'building', 'submitted', 'confirming')",
    "status <> 'building' OR (pair_held AND fence IS NOT NULL AND claim_until IS NOT NULL)",
    // The pair of a row whose outcome is out of reach is used: its account is free again.
    "status NOT IN ('submitted', 'confirming') OR pair_held = (verdict <> 'INDETERMINATE')",
    "send_state IN ('waiting', 'resend', 'raise_fee', 'stopped')",
    "(send_state IN ('resend', 'raise_fee')) = (send_at IS NOT NULL)",
    "(send_state = 'raise_fee') = (send_required IS NOT NULL AND send_operations IS NOT NULL)",
    "(send_state = 'stopped') = (stop_class IS NOT NULL AND stop_code IS NOT NULL)",
    "stop_class IS NULL OR stop_class IN ('transient', 'terminal')",
];

/// A condition of an index is written out in queries too: neither database sees through a bound parameter.
const INDEXES: &[&str] = &[
    "CREATE UNIQUE INDEX submission_ledger_key ON submission_ledger (tenant, idempotency_key)",
    // No two submissions hold the same pair, whatever their status and whatever else goes wrong.
    "CREATE UNIQUE INDEX submission_ledger_pair ON submission_ledger (source_account, sequence) WHERE pair_held",
    "CREATE INDEX submission_ledger_due ON submission_ledger (priority, created_at, id, next_attempt_at) \
     WHERE status = 'pending' AND dispatched_at IS NULL",
    "CREATE INDEX submission_ledger_dispatched ON submission_ledger (priority, dispatched_at) \
     WHERE status = 'pending' AND dispatched_at IS NOT NULL",
    "CREATE INDEX submission_ledger_indeterminate ON submission_ledger (updated_at) \
     WHERE verdict = 'INDETERMINATE'",
    "CREATE INDEX submission_ledger_tenant ON submission_ledger (tenant, created_at, id)",
    "CREATE INDEX submission_ledger_newest ON submission_ledger (created_at, id)",
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.create_table(table()).await?;
        crate::run(manager, INDEXES).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .drop_table(Table::drop().table(SubmissionLedger::Table).to_owned())
            .await
    }
}

fn table() -> TableCreateStatement {
    use SubmissionLedger as S;
    let mut table = Table::create()
        .table(S::Table)
        .col(uuid(S::Id).primary_key())
        .col(string_len(S::Tenant, 64))
        .col(string_len(S::IdempotencyKey, 255))
        .col(big_integer(S::KeyTag))
        .col(text(S::LogicalOperation))
        .col(small_integer(S::Priority))
        .col(text_null(S::BusinessRef))
        .col(text(S::Payload))
        .col(text(S::Fingerprint))
        .col(text(S::Status))
        .col(text(S::Verdict))
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
        .col(text(S::SendState))
        .col(big_integer_null(S::SendAt))
        .col(big_integer_null(S::SendRequired))
        .col(big_integer_null(S::SendOperations))
        .col(text_null(S::StopClass))
        .col(text_null(S::StopCode))
        .col(big_integer(S::AttemptCount))
        .col(text_null(S::Evidence))
        .col(big_integer(S::NextAttemptAt))
        .col(big_integer(S::DispatchRound))
        .col(big_integer_null(S::DispatchedAt))
        .col(big_integer(S::CreatedAt))
        .col(big_integer(S::UpdatedAt))
        .to_owned();
    for sql in RULES {
        table.check(crate::rule(sql));
    }
    table
}
