//! What the reconciler walks: every row that holds a pair, whatever its status.

use std::collections::HashMap;

use sea_orm::{
    ColumnTrait as _, DbErr, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};

use super::entity::{attempt, submission};
use super::read::read;
use super::types::{Attempt, Lease, LedgerError, Millis, SendState, Submission};
use super::{Ledger, convert};
use crate::domain::submission::{Status, Verdict};

impl Ledger {
    /// Every row that holds a pair, with the envelopes of that pair that are not settled. The pool bounds it.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn leases(&self) -> Result<Vec<Lease>, LedgerError> {
        let now = self.now().await?;
        // Envelopes first: a row read later may have moved on, and then its version says so.
        let attempts = attempt::Entity::find()
            .filter(attempt::Column::Settled.eq(false))
            .order_by_asc(attempt::Column::Id)
            .all(self.db.reader())
            .await;
        let mut by_row: HashMap<_, Vec<Attempt>> = HashMap::new();
        for row in read(attempts)? {
            let attempt = read(convert::attempt(row))?;
            by_row.entry(attempt.submission).or_default().push(attempt);
        }
        let rows = submission::Entity::find()
            .filter(submission::Column::PairHeld.eq(true))
            .all(self.db.reader())
            .await;
        let mut leases = Vec::new();
        for row in read(rows)? {
            leases.push(read(lease(row, &mut by_row, now))?);
        }
        Ok(leases)
    }

    /// Rows whose outcome is unknown, with every envelope of the pair in question; least recently looked at first.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn indeterminate(
        &self,
        limit: u64,
    ) -> Result<Vec<(Submission, Vec<Attempt>)>, LedgerError> {
        let rows = submission::Entity::find()
            .filter(submission::Column::Verdict.eq(Verdict::Indeterminate.as_str()))
            .order_by_asc(submission::Column::UpdatedAt)
            .limit(limit)
            .all(self.db.reader())
            .await;
        let mut unknown = Vec::new();
        for row in read(rows)? {
            let submission = read(convert::submission(row))?;
            let mut attempts = self.attempts(submission.id).await?;
            attempts.retain(|attempt| Some(attempt.envelope.pair) == submission.pair);
            unknown.push((submission, attempts));
        }
        Ok(unknown)
    }
}

fn lease(
    row: submission::Model,
    by_row: &mut HashMap<crate::domain::ids::SubmissionId, Vec<Attempt>>,
    now: Millis,
) -> Result<Lease, DbErr> {
    let lapsed = row.claim_until.is_some_and(|until| until <= now);
    let submission = convert::submission(row)?;
    let pair = submission
        .pair
        .ok_or_else(|| convert::corrupt("lease without a pair"))?;
    let mut attempts = by_row.remove(&submission.id).unwrap_or_default();
    attempts.retain(|attempt| attempt.envelope.pair == pair);
    let send_due = match submission.sending {
        SendState::Resend(at) | SendState::RaiseFee { at, .. } => at <= now,
        SendState::Waiting | SendState::Stopped(_) => false,
    };
    Ok(Lease {
        claim_lapsed: lapsed && submission.state.status == Status::Building,
        send_due,
        submission,
        pair,
        attempts,
    })
}
