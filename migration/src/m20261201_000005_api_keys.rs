//! API keys, as hashes of their secrets.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, big_integer_null, string_len, text};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[derive(DeriveIden)]
enum ApiKeys {
    Table,
    Id,
    Tenant,
    Name,
    SecretHash,
    Scopes,
    CreatedAt,
    RevokedAt,
}

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        use ApiKeys as K;
        let table = Table::create()
            .table(K::Table)
            .col(text(K::Id).primary_key())
            .col(string_len(K::Tenant, 64))
            .col(text(K::Name))
            .col(text(K::SecretHash))
            .col(text(K::Scopes))
            .col(big_integer(K::CreatedAt))
            .col(big_integer_null(K::RevokedAt))
            .to_owned();
        manager.create_table(table).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .drop_table(Table::drop().table(ApiKeys::Table).to_owned())
            .await
    }
}
