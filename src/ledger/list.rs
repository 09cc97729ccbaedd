//! Listing submissions, newest first, page by page.

use std::fmt;
use std::str::FromStr;

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, EntityTrait, Order, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::Ledger;
use super::entity::submission::{Column, Entity};
use super::types::{LedgerError, Millis, Submission};
use crate::domain::ids::SubmissionId;
use crate::domain::key::Tenant;
use crate::domain::operation::OperationKind;
use crate::domain::schedule::Priority;
use crate::domain::submission::Status;

/// Which submissions to list. Nothing set: all.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// Of that tenant.
    pub tenant: Option<Tenant>,
    /// In that status.
    pub status: Option<Status>,
    /// Of that kind.
    pub kind: Option<OperationKind>,
    /// Of that priority.
    pub priority: Option<Priority>,
}

/// Where a page ended. Opaque to callers: they hand it back as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    created_at: Millis,
    id: SubmissionId,
}

/// A text is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor that a page ended with")]
pub struct BadCursor;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{}", self.created_at, self.id.0.simple())
    }
}

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let (created_at, id) = text.split_once('.').ok_or(BadCursor)?;
        Ok(Self {
            created_at: Millis::from_str_radix(created_at, 16).map_err(|_| BadCursor)?,
            id: SubmissionId(Uuid::try_parse(id).map_err(|_| BadCursor)?),
        })
    }
}

impl Ledger {
    /// A page of at most `limit` submissions, and where to go on if there are more.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn list(
        &self,
        filter: &ListFilter,
        after: Option<Cursor>,
        limit: u64,
    ) -> Result<(Vec<Submission>, Option<Cursor>), LedgerError> {
        let mut query = Entity::find();
        if let Some(tenant) = &filter.tenant {
            query = query.filter(Column::Tenant.eq(tenant.as_str()));
        }
        if let Some(status) = filter.status {
            query = query.filter(Column::Status.eq(status.as_str()));
        }
        if let Some(kind) = filter.kind {
            query = query.filter(Column::LogicalOperation.eq(kind.as_str()));
        }
        if let Some(priority) = filter.priority {
            query = query.filter(Column::Priority.eq(priority.rank()));
        }
        if let Some(after) = after {
            let place = Expr::tuple([Expr::val(after.created_at), Expr::val(after.id.0)]);
            let row = Expr::tuple([Expr::col(Column::CreatedAt), Expr::col(Column::Id)]);
            query = query.filter(row.lt(place));
        }
        let rows = query
            .order_by(Column::CreatedAt, Order::Desc)
            .order_by(Column::Id, Order::Desc)
            .limit(limit.saturating_add(1))
            .all(self.store.reader())
            .await?;
        let size = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > size;
        let page: Vec<_> = rows
            .into_iter()
            .take(size)
            .map(Submission::try_from)
            .collect::<Result<_, _>>()?;
        let next = page.last().filter(|_| more).map(|last| Cursor {
            created_at: last.created_at,
            id: last.id,
        });
        Ok((page, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_survive_the_round_trip_and_other_texts_are_refused() {
        let cursor = Cursor {
            created_at: 1_764_500_000_123,
            id: SubmissionId(uuid::Uuid::new_v4()),
        };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", ".", "x.y", "12", "12.", "12.zz", &"f".repeat(500)] {
            assert_eq!(text.parse::<Cursor>(), Err(BadCursor), "{text}");
        }
    }
}
