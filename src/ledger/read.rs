//! Reading single submissions, and counts.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, EntityTrait, FromQueryResult, Order, QueryFilter, QueryOrder, QuerySelect,
};

use super::entity::submission::{Column, Entity};
use super::entity::{attempt, log};
use super::types::{Attempt, LedgerError, LogEntry, Submission};
use super::{Ledger, row};
use crate::domain::ids::{SubmissionId, TxHash};
use crate::domain::key::{IdempotencyKey, Tenant};
use crate::domain::schedule::Priority;
use crate::domain::submission::Status;

impl Ledger {
    /// A tenant's submission by key.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn by_key(
        &self,
        tenant: &Tenant,
        key: &IdempotencyKey,
    ) -> Result<Option<Submission>, LedgerError> {
        let found = Entity::find()
            .filter(Column::Tenant.eq(tenant.as_str()))
            .filter(Column::IdempotencyKey.eq(key.as_str()))
            .one(self.store.reader())
            .await?;
        found.map(Submission::try_from).transpose()
    }

    /// The submission of which an envelope has that hash, outer or inner.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn by_hash(&self, hash: TxHash) -> Result<Option<SubmissionId>, LedgerError> {
        let hash = hash.to_string();
        let found = attempt::Entity::find()
            .filter(
                attempt::Column::Hash
                    .eq(hash.as_str())
                    .or(attempt::Column::InnerHash.eq(hash.as_str())),
            )
            .one(self.store.reader())
            .await?;
        Ok(found.map(|attempt| SubmissionId(attempt.submission_id)))
    }

    /// Every envelope of a submission, oldest first.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn attempts(&self, id: SubmissionId) -> Result<Vec<Attempt>, LedgerError> {
        attempt::Entity::find()
            .filter(attempt::Column::SubmissionId.eq(id.0))
            .order_by(attempt::Column::Id, Order::Asc)
            .all(self.store.reader())
            .await?
            .into_iter()
            .map(Attempt::try_from)
            .collect()
    }

    /// Every transition of a submission, oldest first.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn log(&self, id: SubmissionId) -> Result<Vec<LogEntry>, LedgerError> {
        log::Entity::find()
            .filter(log::Column::SubmissionId.eq(id.0))
            .order_by(log::Column::Version, Order::Asc)
            .all(self.store.reader())
            .await?
            .into_iter()
            .map(LogEntry::try_from)
            .collect()
    }

    /// How many submissions there are by status and priority. Combinations without any are left out.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn counts(&self) -> Result<Vec<(Status, Priority, u64)>, LedgerError> {
        #[derive(FromQueryResult)]
        struct Count {
            status: String,
            priority: i16,
            number: i64,
        }
        let counts = Entity::find()
            .select_only()
            .columns([Column::Status, Column::Priority])
            .column_as(Expr::cust("count(*)"), "number")
            .group_by(Column::Status)
            .group_by(Column::Priority)
            .order_by(Column::Status, Order::Asc)
            .order_by(Column::Priority, Order::Asc)
            .into_model::<Count>()
            .all(self.store.reader())
            .await?;
        counts
            .into_iter()
            .map(|count| {
                Ok((
                    row::status(&count.status)?,
                    row::priority(count.priority)?,
                    count.number.cast_unsigned(),
                ))
            })
            .collect()
    }
}
