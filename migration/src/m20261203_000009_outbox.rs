//! Intents that callers write within SQL transactions of their own, until a relay takes them into the ledger.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{
    big_integer, big_integer_null, big_pk_auto, text, text_null, uuid_null,
};
use sea_orm_migration::sea_orm::DbBackend;

use crate::m20261201_000001_submission_ledger::SubmissionLedger;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[derive(DeriveIden)]
enum Outbox {
    Table,
    Id,
    Tenant,
    IdempotencyKey,
    Payload,
    CreatedAt,
    State,
    SubmissionId,
    RefusedCode,
    RefusedDetail,
    SettledAt,
}

/// What a row must satisfy whoever writes it.
const RULES: &[&str] = &[
    "length(tenant) BETWEEN 1 AND 64",
    "idempotency_key IS NULL OR length(idempotency_key) BETWEEN 1 AND 255",
    "state IN ('new', 'accepted', 'refused')",
    "(state = 'new') = (settled_at IS NULL)",
    "(state = 'accepted') = (submission_id IS NOT NULL)",
    "(state = 'refused') = (refused_code IS NOT NULL)",
    "(state = 'refused') = (refused_detail IS NOT NULL)",
    "refused_code IS NULL OR length(refused_code) <= 64",
    "refused_detail IS NULL OR length(refused_detail) <= 4000",
];

/// The size of a payload, in bytes.
const POSTGRES_RULES: &[&str] = &["octet_length(payload) BETWEEN 1 AND 65536"];
/// The same, and what types see to elsewhere. Callers bring a `SQLite` of their own, so that nothing newer is named.
const SQLITE_RULES: &[&str] = &[
    "length(CAST(payload AS BLOB)) BETWEEN 1 AND 65536",
    "typeof(tenant) = 'text' AND typeof(payload) = 'text'",
    "typeof(idempotency_key) IN ('text', 'null')",
];

const POSTGRES_NOW: &str = "((extract(epoch FROM statement_timestamp()) * 1000)::bigint)";
const SQLITE_NOW: &str = "(CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))";

/// A condition of an index is written out in queries too: neither database sees through a bound parameter.
const INDEXES: &[&str] = &["CREATE INDEX outbox_new ON outbox (id) WHERE state = 'new'"];

/// Commits that notify wait for each other, so of transactions under way at once one does; relays look by themselves for
/// what the others bring.
const NOTIFY: &str = "CREATE FUNCTION tender_outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$ \
     BEGIN \
         IF pg_try_advisory_xact_lock(1952804964, 1) THEN \
             PERFORM pg_notify('tender_outbox', ''); \
         END IF; \
         RETURN NULL; \
     END $$";
const TRIGGER: &str = "CREATE TRIGGER outbox_notify AFTER INSERT ON outbox \
     FOR EACH STATEMENT EXECUTE FUNCTION tender_outbox_notify()";

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let postgres = manager.get_database_backend() == DbBackend::Postgres;
        manager.create_table(table(postgres)).await?;
        crate::run(manager, INDEXES).await?;
        if postgres {
            crate::run(manager, &[NOTIFY, TRIGGER]).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .drop_table(Table::drop().table(Outbox::Table).to_owned())
            .await?;
        if manager.get_database_backend() == DbBackend::Postgres {
            crate::run(manager, &["DROP FUNCTION tender_outbox_notify()"]).await?;
        }
        Ok(())
    }
}

fn table(postgres: bool) -> TableCreateStatement {
    use Outbox as O;
    let (now, rules) = if postgres {
        (POSTGRES_NOW, POSTGRES_RULES)
    } else {
        (SQLITE_NOW, SQLITE_RULES)
    };
    let mut table = Table::create()
        .table(O::Table)
        .col(big_pk_auto(O::Id))
        .col(text(O::Tenant))
        .col(text_null(O::IdempotencyKey))
        .col(text(O::Payload))
        .col(big_integer(O::CreatedAt).default(crate::rule(now)))
        .col(text(O::State).default("new"))
        .col(uuid_null(O::SubmissionId))
        .col(text_null(O::RefusedCode))
        .col(text_null(O::RefusedDetail))
        .col(big_integer_null(O::SettledAt))
        .foreign_key(
            ForeignKey::create()
                .name("outbox_submission")
                .from(O::Table, O::SubmissionId)
                .to(SubmissionLedger::Table, SubmissionLedger::Id),
        )
        .to_owned();
    for sql in RULES.iter().chain(rules) {
        table.check(crate::rule(sql));
    }
    table
}
