//! What the chain told of transactions that the ledger had forgotten, and what that makes of its rows and accounts.

use futures::FutureExt;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, EntityTrait, Order, QueryFilter, QueryOrder,
};

use super::entity::recovered::{Column, Entity, Model};
use super::entity::{attempt, channel, submission};
use super::forgotten::Recovered;
use super::memory::Gate;
use super::transition::apply_each;
use super::types::{Applied, Attempt, Change, ChannelState, LedgerError, Submission};
use super::{Ledger, clock, row};
use crate::domain::ids::{AccountId, Pair};
use crate::domain::key::KeyTag;
use crate::domain::memory::RecoveredKind;

/// Rows asked for at once.
const BATCH: usize = 500;

impl Ledger {
    /// Keeps what was found. What is known of a pair stays as it was found first.
    ///
    /// # Errors
    /// [`LedgerError`]; [`LedgerError::MemoryLost`] unless the recovery of that epoch is going on.
    pub async fn note_recovered(
        &self,
        epoch: i64,
        found: Vec<Recovered>,
    ) -> Result<(), LedgerError> {
        self.admitted(Gate::Recovery(epoch), move |at| {
            async move {
                for one in &found {
                    insert(at.tx, one).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// Takes rows through transitions that the recovery of that epoch found evidence for.
    ///
    /// # Errors
    /// As [`Ledger::note_recovered`].
    pub async fn apply_recovered(
        &self,
        epoch: i64,
        changes: Vec<Change>,
    ) -> Result<Vec<Applied>, LedgerError> {
        let applied = self
            .admitted(Gate::Recovery(epoch), move |at| {
                async move { apply_each(at, &changes).await }.boxed()
            })
            .await?;
        self.tell(&applied);
        Ok(applied)
    }

    /// Has a free account go on behind what the chain has used of it, now that this is known.
    ///
    /// # Errors
    /// As [`Ledger::note_recovered`].
    pub async fn go_on_behind(
        &self,
        epoch: i64,
        account: AccountId,
        seq_num: i64,
    ) -> Result<(), LedgerError> {
        let next = seq_num.saturating_add(1);
        self.admitted(Gate::Recovery(epoch), move |at| {
            async move {
                use channel::Column as C;
                let update = channel::Entity::update_many()
                    .filter(C::Account.eq(account.to_string()))
                    .filter(C::State.ne(ChannelState::Leased.as_str()))
                    .filter(C::NextSequence.lt(next))
                    .col_expr(C::NextSequence, Expr::val(next));
                update.exec(at.tx).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// All that was recovered, in the order of accounts and sequences.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn recovered(&self) -> Result<Vec<Recovered>, LedgerError> {
        Entity::find()
            .order_by(Column::Account, Order::Asc)
            .order_by(Column::Sequence, Order::Asc)
            .all(self.store.reader())
            .await?
            .into_iter()
            .map(Recovered::try_from)
            .collect()
    }

    /// Rows with one of those tags, whatever their status.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn by_tags(&self, tags: &[KeyTag]) -> Result<Vec<Submission>, LedgerError> {
        let mut rows = Vec::new();
        for tags in tags.chunks(BATCH) {
            let tags = tags.iter().map(|tag| tag.0.cast_signed());
            let found = submission::Entity::find()
                .filter(submission::Column::KeyTag.is_in(tags))
                .all(self.store.reader())
                .await?;
            for row in found {
                rows.push(row.try_into()?);
            }
        }
        Ok(rows)
    }

    /// Every envelope that was recorded for a sequence of the account from that one on.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn attempts_from(&self, first: Pair) -> Result<Vec<Attempt>, LedgerError> {
        attempt::Entity::find()
            .filter(attempt::Column::SourceAccount.eq(first.account.to_string()))
            .filter(attempt::Column::Sequence.gte(first.sequence))
            .all(self.store.reader())
            .await?
            .into_iter()
            .map(Attempt::try_from)
            .collect()
    }
}

/// The forgotten payment of a key, if the chain showed one.
pub(super) async fn paid(
    tx: &DatabaseTransaction,
    tag: KeyTag,
) -> Result<Option<Recovered>, LedgerError> {
    let found = Entity::find()
        .filter(Expr::cust("kind = 'paid'"))
        .filter(Expr::col(Column::KeyTag).eq(tag.0.cast_signed()))
        .one(tx)
        .await?;
    found.map(Recovered::try_from).transpose()
}

async fn insert(tx: &DatabaseTransaction, found: &Recovered) -> Result<(), LedgerError> {
    let mut insert = Query::insert();
    insert
        .into_table(Entity)
        .columns([
            Column::Account,
            Column::Sequence,
            Column::Kind,
            Column::KeyTag,
            Column::Hash,
            Column::Ledger,
            Column::Operation,
            Column::Evidence,
            Column::FoundAt,
        ])
        .values([
            Expr::val(found.pair.account.to_string()),
            Expr::val(found.pair.sequence),
            Expr::val(found.kind.as_str()),
            Expr::val(found.tag.map(|tag| tag.0.cast_signed())),
            Expr::val(found.hash.map(|hash| hash.to_string())),
            Expr::val(found.ledger.map(i64::from)),
            Expr::val(found.operation.as_ref().map(ToString::to_string)),
            Expr::val(found.evidence.to_string()),
            clock::now(tx),
        ])
        .map_err(|fault| LedgerError::Corrupt(fault.to_string()))?
        .on_conflict(
            OnConflict::columns([Column::Account, Column::Sequence])
                .do_nothing()
                .to_owned(),
        );
    tx.execute(&insert).await?;
    Ok(())
}

impl TryFrom<Model> for Recovered {
    type Error = LedgerError;

    fn try_from(found: Model) -> Result<Self, LedgerError> {
        Ok(Self {
            pair: Pair {
                account: row::parsed("account", &found.account)?,
                sequence: found.sequence,
            },
            kind: row::named(
                "kind",
                &RecoveredKind::ALL,
                RecoveredKind::as_str,
                &found.kind,
            )?,
            tag: found.key_tag.map(|tag| KeyTag(tag.cast_unsigned())),
            hash: row::hash("hash", found.hash.as_ref())?,
            ledger: found
                .ledger
                .map(|ledger| row::narrow("ledger", ledger))
                .transpose()?,
            operation: found
                .operation
                .map(|text| row::json("operation", &text))
                .transpose()?,
            evidence: row::json("evidence", &found.evidence)?,
        })
    }
}
