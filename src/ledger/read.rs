//! Reading submissions, their envelopes and their history.

use std::fmt;
use std::str::FromStr;

use sea_orm::sea_query::ExprTrait as _;
use sea_orm::{
    ColumnTrait as _, Condition, ConnectionTrait as _, DbErr, EntityTrait as _, FromQueryResult,
    QueryFilter as _, QueryOrder as _, QuerySelect as _, Statement,
};

use super::db::unwritten;
use super::entity::{attempt, log, submission};
use super::types::{Attempt, LedgerError, LogEntry, Millis, Submission};
use super::{Ledger, convert, db};
use crate::domain::ids::SubmissionId;
use crate::domain::key::{IdempotencyKey, Tenant};
use crate::domain::operation::OperationKind;
use crate::domain::schedule::Priority;
use crate::domain::submission::Status;

/// Which submissions to list.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// Of one tenant; of all for staff.
    pub tenant: Option<Tenant>,
    /// In one status.
    pub status: Option<Status>,
    /// Of one kind.
    pub kind: Option<OperationKind>,
}

/// Where a page ended. Opaque to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    created_at: Millis,
    id: SubmissionId,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.created_at, self.id.0.simple())
    }
}

/// A text is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor that an earlier page ended with")]
pub struct BadCursor;

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (created_at, id) = text.split_once('-').ok_or(BadCursor)?;
        Ok(Self {
            created_at: Millis::from_str_radix(created_at, 16).map_err(|_| BadCursor)?,
            id: id.parse().map_err(|_| BadCursor)?,
        })
    }
}

#[derive(FromQueryResult)]
struct Count {
    status: String,
    priority: i16,
    count: i64,
}

impl Ledger {
    /// The submission of that id.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn submission(&self, id: SubmissionId) -> Result<Option<Submission>, LedgerError> {
        let row = submission::Entity::find_by_id(id.0)
            .one(self.db.reader())
            .await;
        read(row.and_then(|row| row.map(convert::submission).transpose()))
    }

    /// The submission of a tenant's key.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn by_key(
        &self,
        tenant: &Tenant,
        key: &IdempotencyKey,
    ) -> Result<Option<Submission>, LedgerError> {
        let row = submission::Entity::find()
            .filter(submission::Column::Tenant.eq(tenant.as_str()))
            .filter(submission::Column::IdempotencyKey.eq(key.as_str()))
            .one(self.db.reader())
            .await;
        read(row.and_then(|row| row.map(convert::submission).transpose()))
    }

    /// A page of submissions, newest first, and where the next one starts.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn list(
        &self,
        filter: &ListFilter,
        after: Option<Cursor>,
        limit: u64,
    ) -> Result<(Vec<Submission>, Option<Cursor>), LedgerError> {
        use submission::Column as C;
        let mut query = submission::Entity::find()
            .order_by_desc(C::CreatedAt)
            .order_by_desc(C::Id)
            .limit(limit);
        if let Some(tenant) = &filter.tenant {
            query = query.filter(C::Tenant.eq(tenant.as_str()));
        }
        if let Some(status) = filter.status {
            query = query.filter(C::Status.eq(status.as_str()));
        }
        if let Some(kind) = filter.kind {
            query = query.filter(C::Kind.eq(kind.as_str()));
        }
        if let Some(after) = after {
            let older = C::CreatedAt.lt(after.created_at);
            let same = C::CreatedAt.eq(after.created_at).and(C::Id.lt(after.id.0));
            query = query.filter(Condition::any().add(older).add(same));
        }
        let rows = query.all(self.db.reader()).await;
        let page: Vec<_> =
            read(rows.and_then(|rows| rows.into_iter().map(convert::submission).collect()))?;
        let full = u64::try_from(page.len()).is_ok_and(|len| len == limit);
        let last = page.last().filter(|_| full).map(|last| Cursor {
            created_at: last.created_at,
            id: last.id,
        });
        Ok((page, last))
    }

    /// Every envelope ever recorded for a submission, oldest first.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn attempts(&self, id: SubmissionId) -> Result<Vec<Attempt>, LedgerError> {
        let rows = attempt::Entity::find()
            .filter(attempt::Column::SubmissionId.eq(id.0))
            .order_by_asc(attempt::Column::Id)
            .all(self.db.reader())
            .await;
        read(rows.and_then(|rows| rows.into_iter().map(convert::attempt).collect()))
    }

    /// Every transition of a submission, oldest first.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn log(&self, id: SubmissionId) -> Result<Vec<LogEntry>, LedgerError> {
        let rows = log::Entity::find()
            .filter(log::Column::SubmissionId.eq(id.0))
            .order_by_asc(log::Column::Version)
            .all(self.db.reader())
            .await;
        read(rows.map(|rows| rows.into_iter().map(convert::log_entry).collect()))
    }

    /// How many submissions there are by status and priority.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn counts(&self) -> Result<Vec<(Status, Priority, u64)>, LedgerError> {
        let rows = submission::Entity::find()
            .select_only()
            .columns([submission::Column::Status, submission::Column::Priority])
            .column_as(submission::Column::Id.count(), "count")
            .group_by(submission::Column::Status)
            .group_by(submission::Column::Priority)
            .into_model::<Count>()
            .all(self.db.reader())
            .await;
        let one = |row: Count| {
            let priority =
                Priority::from_rank(row.priority).ok_or_else(|| convert::corrupt(row.priority))?;
            let count = u64::try_from(row.count).map_err(convert::corrupt)?;
            Ok((convert::status_of(&row.status)?, priority, count))
        };
        read(rows.and_then(|rows| rows.into_iter().map(one).collect()))
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), LedgerError> {
        let statement = Statement::from_string(self.db.backend(), "SELECT 1");
        read(self.db.reader().query_one_raw(statement).await.map(drop))
    }

    /// The database's clock.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn now(&self) -> Result<Millis, LedgerError> {
        let row = self
            .db
            .ask(&format!("SELECT {} AS now", db::now_sql(self.db.backend())))
            .await?;
        read(row.try_get("", "now"))
    }
}

/// The answer to a question that writes nothing.
pub(super) fn read<T>(answer: Result<T, DbErr>) -> Result<T, LedgerError> {
    answer.map_err(|error| unwritten(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_survive_the_round_trip_and_others_are_refused() {
        let cursor = Cursor {
            created_at: 1_764_547_200_123,
            id: SubmissionId(uuid::Uuid::new_v4()),
        };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "-", "12", "zz-1", "12-nonsense"] {
            assert_eq!(text.parse::<Cursor>(), Err(BadCursor), "{text}");
        }
    }
}
