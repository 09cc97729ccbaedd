//! The pool of channel accounts: public keys only.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, text, text_null, uuid_null};

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

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        use ChannelAccounts as C;
        let states = Expr::col(C::State).is_in(["free", "leased", "quarantined"]);
        let held = Expr::cust("(state = 'leased') = (leased_by IS NOT NULL)");
        let table = Table::create()
            .table(C::Table)
            .col(text(C::Account).primary_key())
            .col(text(C::State).check(states))
            .col(big_integer(C::NextSequence))
            .col(uuid_null(C::LeasedBy))
            .col(text_null(C::Reason))
            .col(big_integer(C::LastUsedAt))
            .col(big_integer(C::CreatedAt))
            .check(held)
            .to_owned();
        manager.create_table(table).await?;
        crate::run(manager, &["CREATE INDEX channel_accounts_free ON channel_accounts (last_used_at) WHERE state = 'free'"]).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .drop_table(Table::drop().table(ChannelAccounts::Table).to_owned())
            .await
    }
}
