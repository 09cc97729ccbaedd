//! Reading single submissions, and counts.

use std::collections::BTreeMap;

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, Order, QueryFilter, QueryOrder,
    QuerySelect, Statement,
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

    /// How many submissions there are by status and priority. Combinations without any are left out. Reads every row.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn counts(&self) -> Result<Vec<(Status, Priority, u64)>, LedgerError> {
        let counts = Entity::find()
            .select_only()
            .columns([Column::Status, Column::Priority])
            .column_as(Expr::cust("count(*)"), "number")
            .group_by(Column::Status)
            .group_by(Column::Priority)
            .into_model::<Count>()
            .all(self.store.reader())
            .await?;
        summed(counts)
    }

    /// The same for submissions that are not at their end yet. Reads those only, however many have ended.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn live_counts(&self) -> Result<Vec<(Status, Priority, u64)>, LedgerError> {
        let db = self.store.reader();
        let statement = Statement::from_string(db.get_database_backend(), LIVE);
        summed(Count::find_by_statement(statement).all(db).await?)
    }
}

/// What is pending, what holds a pair, and what has an outcome out of reach: each part has an index of its own. A status
/// that is known is not read, so that the index suffices.
const LIVE: &str = "\
    SELECT 'pending' AS status, priority, count(*) AS number FROM submission_ledger \
    WHERE status = 'pending' AND dispatched_at IS NULL GROUP BY priority \
    UNION ALL \
    SELECT 'pending', priority, count(*) FROM submission_ledger \
    WHERE status = 'pending' AND dispatched_at IS NOT NULL GROUP BY priority \
    UNION ALL \
    SELECT status, priority, count(*) FROM submission_ledger \
    WHERE pair_held AND status <> 'pending' GROUP BY status, priority \
    UNION ALL \
    SELECT status, priority, count(*) FROM submission_ledger \
    WHERE verdict = 'INDETERMINATE' GROUP BY status, priority";

#[derive(FromQueryResult)]
struct Count {
    status: String,
    priority: i16,
    number: i64,
}

fn summed(counts: Vec<Count>) -> Result<Vec<(Status, Priority, u64)>, LedgerError> {
    let mut sums = BTreeMap::new();
    for Count {
        status,
        priority,
        number,
    } in counts
    {
        *sums.entry((status, priority)).or_default() += number.cast_unsigned();
    }
    sums.into_iter()
        .map(|((status, priority), number)| {
            Ok((row::status(&status)?, row::priority(priority)?, number))
        })
        .collect()
}
