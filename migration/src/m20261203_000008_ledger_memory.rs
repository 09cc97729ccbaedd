//! Whether the ledger still remembers all that it ever knew, and what the chain told of what it had forgotten.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, big_integer_null, small_integer, text, text_null};
use sea_orm_migration::sea_orm::DbBackend;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[derive(DeriveIden)]
enum LedgerMemory {
    Table,
    Id,
    LedgerId,
    Witness,
    Epoch,
    State,
    Reason,
    Since,
    ResumeAfter,
    ReadFrom,
}

#[derive(DeriveIden)]
enum RecoveredTransactions {
    Table,
    Account,
    Sequence,
    Kind,
    KeyTag,
    Hash,
    Ledger,
    Operation,
    Evidence,
    FoundAt,
}

const MEMORY_RULES: &[&str] = &[
    "id = 1",
    "state IN ('open', 'lost', 'held')",
    "(state = 'open') = (reason IS NULL)",
    "(state = 'open') = (since IS NULL)",
    "state <> 'open' OR resume_after IS NULL",
    // Nobody identifies consumers before the longest window is over.
    "state <> 'held' OR resume_after IS NOT NULL",
];

const RECOVERED_RULES: &[&str] = &[
    "kind IN ('paid', 'failed', 'foreign', 'accepted')",
    "kind <> 'paid' OR (key_tag IS NOT NULL AND operation IS NOT NULL)",
    "kind = 'accepted' OR hash IS NOT NULL",
];

const INDEXES: &[&str] = &[
    "CREATE INDEX recovered_transactions_paid ON recovered_transactions (key_tag) WHERE kind = 'paid'",
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.create_table(memory()).await?;
        manager.create_table(recovered()).await?;
        crate::run(manager, INDEXES).await?;
        let name = if manager.get_database_backend() == DbBackend::Sqlite {
            "lower(hex(randomblob(16)))"
        } else {
            "gen_random_uuid()::text"
        };
        let row = format!(
            "INSERT INTO ledger_memory (id, ledger_id, epoch, state) VALUES (1, {name}, 0, 'open')"
        );
        crate::run(manager, &[&row]).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let memory = Table::drop().table(LedgerMemory::Table).to_owned();
        manager.drop_table(memory).await?;
        let recovered = Table::drop().table(RecoveredTransactions::Table).to_owned();
        manager.drop_table(recovered).await
    }
}

fn memory() -> TableCreateStatement {
    use LedgerMemory as M;
    let mut table = Table::create()
        .table(M::Table)
        .col(small_integer(M::Id).primary_key())
        .col(text(M::LedgerId))
        .col(text_null(M::Witness))
        .col(big_integer(M::Epoch))
        .col(text(M::State))
        .col(text_null(M::Reason))
        .col(big_integer_null(M::Since))
        .col(big_integer_null(M::ResumeAfter))
        .col(big_integer_null(M::ReadFrom))
        .to_owned();
    for sql in MEMORY_RULES {
        table.check(crate::rule(sql));
    }
    table
}

fn recovered() -> TableCreateStatement {
    use RecoveredTransactions as R;
    let mut table = Table::create()
        .table(R::Table)
        .col(text(R::Account))
        .col(big_integer(R::Sequence))
        .col(text(R::Kind))
        .col(big_integer_null(R::KeyTag))
        .col(text_null(R::Hash))
        .col(big_integer_null(R::Ledger))
        .col(text_null(R::Operation))
        .col(text(R::Evidence))
        .col(big_integer(R::FoundAt))
        // The network applies one transaction for a pair, so there is one to tell of.
        .primary_key(Index::create().col(R::Account).col(R::Sequence))
        .to_owned();
    for sql in RECOVERED_RULES {
        table.check(crate::rule(sql));
    }
    table
}
