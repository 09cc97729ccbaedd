//! The pool of channel accounts: public keys only.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, text, text_null, uuid_null};

use crate::m20261201_000001_submission_ledger::SubmissionLedger;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[derive(DeriveIden)]
enum ChannelAccounts {
    Table,
    Account,
    State,
    NextSequence,
    LeasedBy,
    Reason,
    LastUsedAt,
    CreatedAt,
}

/// Every account is in exactly one of three states, so that the counts always add up to the pool.
const RULES: &[&str] = &[
    "state IN ('free', 'leased', 'quarantined')",
    "(state = 'leased') = (leased_by IS NOT NULL)",
    "(state = 'quarantined') = (reason IS NOT NULL)",
];

const INDEXES: &[&str] = &[
    "CREATE INDEX channel_accounts_free ON channel_accounts (last_used_at, account) WHERE state = 'free'",
    "CREATE UNIQUE INDEX channel_accounts_lease ON channel_accounts (leased_by) WHERE leased_by IS NOT NULL",
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        use ChannelAccounts as C;
        let mut table = Table::create()
            .table(C::Table)
            .col(text(C::Account).primary_key())
            .col(text(C::State))
            .col(big_integer(C::NextSequence))
            .col(uuid_null(C::LeasedBy))
            .col(text_null(C::Reason))
            .col(big_integer(C::LastUsedAt))
            .col(big_integer(C::CreatedAt))
            .foreign_key(
                ForeignKey::create()
                    .name("channel_accounts_holder")
                    .from(C::Table, C::LeasedBy)
                    .to(SubmissionLedger::Table, SubmissionLedger::Id),
            )
            .to_owned();
        for sql in RULES {
            table.check(crate::rule(sql));
        }
        manager.create_table(table).await?;
        crate::run(manager, INDEXES).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .drop_table(Table::drop().table(ChannelAccounts::Table).to_owned())
            .await
    }
}
