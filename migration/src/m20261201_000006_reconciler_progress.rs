//! How far the reconcilers are: one row, whoever passed last. Readiness is told from it; nothing else is.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, small_integer};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[derive(DeriveIden)]
enum ReconcilerProgress {
    Table,
    Id,
    Ledger,
    CloseTime,
    Period,
    PassedAt,
}

const RULES: &[&str] = &["id = 1", "ledger >= 0", "period >= 0"];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        use ReconcilerProgress as P;
        let mut table = Table::create()
            .table(P::Table)
            .col(small_integer(P::Id).primary_key())
            .col(big_integer(P::Ledger))
            .col(big_integer(P::CloseTime))
            .col(big_integer(P::Period))
            .col(big_integer(P::PassedAt))
            .to_owned();
        for sql in RULES {
            table.check(crate::rule(sql));
        }
        manager.create_table(table).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .drop_table(Table::drop().table(ReconcilerProgress::Table).to_owned())
            .await
    }
}
