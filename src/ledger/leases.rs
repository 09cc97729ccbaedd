//! What the reconciler plans from: every row that holds a pair, whatever its status, and the rows whose outcome is out
//! of reach.

use std::collections::HashMap;

use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, Order, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait,
};

use super::entity::attempt;
use super::entity::submission::{Column, Entity, Model};
use super::types::{Attempt, Lease, LedgerError, Millis, SendState, Submission};
use super::{Ledger, clock};
use crate::domain::ids::SubmissionId;
use crate::domain::submission::Status;

/// Envelopes of one row, or why one of them cannot be read.
type Attempts = Result<Vec<Attempt>, LedgerError>;

impl Ledger {
    /// Every row that holds a pair, with the envelopes of the pair that are not settled. The pool bounds them.
    ///
    /// A row that cannot be read keeps its pair and is left out, loudly: it must not keep the others from being settled.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn leases(&self) -> Result<Vec<Lease>, LedgerError> {
        let db = self.store.reader();
        let query = Entity::find()
            .expr_as(clock::now(db), "db_now")
            .filter(Expr::cust("pair_held"))
            .order_by(Column::UpdatedAt, Order::Asc)
            .into_query();
        let rows = db.query_all(&query).await?;
        // Read after the rows. An envelope that was recorded or settled in between moved its row's version, so that
        // whatever is planned from the older row comes too late to be written.
        let mut attempts = self.unsettled().await?;
        let mut leases = Vec::with_capacity(rows.len());
        for row in rows {
            let now: Millis = row.try_get("", "db_now")?;
            let model = Model::from_query_result(&row, "")?;
            let (id, claim_until) = (SubmissionId(model.id), model.claim_until);
            let attempts = attempts.remove(&id).unwrap_or(Ok(Vec::new()));
            match Submission::try_from(model).and_then(|row| Ok((row, attempts?))) {
                Ok((submission, attempts)) => {
                    leases.extend(lease(submission, claim_until, attempts, now));
                }
                Err(error) => {
                    tracing::error!(submission = %id, %error, "a lease is left alone: staff must look at this");
                }
            }
        }
        Ok(leases)
    }

    /// Envelopes of held pairs that are not settled, by row, oldest first.
    async fn unsettled(&self) -> Result<HashMap<SubmissionId, Attempts>, LedgerError> {
        let holders = Entity::find()
            .select_only()
            .column(Column::Id)
            .filter(Expr::cust("pair_held"))
            .into_query();
        let rows = attempt::Entity::find()
            .filter(attempt::Column::SubmissionId.in_subquery(holders))
            .filter(attempt::Column::Settled.eq(false))
            .order_by(attempt::Column::Id, Order::Asc)
            .all(self.store.reader())
            .await?;
        let mut attempts: HashMap<_, Attempts> = HashMap::new();
        for row in rows {
            let id = SubmissionId(row.submission_id);
            let of_row = attempts.entry(id).or_insert(Ok(Vec::new()));
            match (&mut *of_row, Attempt::try_from(row)) {
                (Ok(known), Ok(attempt)) => known.push(attempt),
                (Ok(_), Err(error)) => *of_row = Err(error),
                (Err(_), _) => {}
            }
        }
        Ok(attempts)
    }

    /// Rows whose outcome is out of reach, in the order of their identities, each with the envelopes of the pair in
    /// question. Goes on after the row of `after`.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn indeterminate(
        &self,
        after: Option<SubmissionId>,
        limit: u64,
    ) -> Result<Vec<(Submission, Vec<Attempt>)>, LedgerError> {
        let mut query = Entity::find().filter(Expr::cust("verdict = 'INDETERMINATE'"));
        if let Some(after) = after {
            query = query.filter(Column::Id.gt(after.0));
        }
        let rows = query
            .order_by(Column::Id, Order::Asc)
            .limit(limit)
            .all(self.store.reader())
            .await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            let submission = Submission::try_from(row)?;
            let mut attempts = self.attempts(submission.id).await?;
            attempts.retain(|attempt| Some(attempt.envelope.pair) == submission.pair);
            found.push((submission, attempts));
        }
        Ok(found)
    }
}

/// `None` for a row without a pair, which the query does not select.
fn lease(
    submission: Submission,
    claim_until: Option<Millis>,
    mut attempts: Vec<Attempt>,
    now: Millis,
) -> Option<Lease> {
    let pair = submission.pair?;
    attempts.retain(|attempt| attempt.envelope.pair == pair);
    let building = submission.state.status == Status::Building;
    let send_due = match submission.sending {
        SendState::Resend(at) | SendState::RaiseFee { at, .. } => at <= now,
        SendState::Waiting | SendState::Stopped(_) => false,
    };
    Some(Lease {
        pair,
        attempts,
        claim_lapsed: building && claim_until.is_none_or(|until| until <= now),
        send_due,
        submission,
    })
}
