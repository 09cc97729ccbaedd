//! Claiming a row, and recording envelopes for it.

use sea_orm::sea_query::{Expr, ExprTrait as _, LockBehavior, LockType};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, ConnectionTrait as _, DatabaseTransaction, DbBackend,
    DbErr, EntityTrait as _, IntoActiveModel as _, PaginatorTrait as _, QueryFilter as _,
    QueryOrder as _, QuerySelect as _, Set,
};

use super::entity::{attempt, channel, submission};
use super::transition::{append, compare_and_set, locked, set_plan, transition};
use super::types::{
    Applied, Change, ChannelState, Claim, ClaimOutcome, Envelope, LedgerError, Millis, Rules,
    SendPlan,
};
use super::{Ledger, convert, db};
use crate::domain::ids::{Fence, Pair, SubmissionId, Version};
use crate::domain::submission::{Event, Status, Verdict};
use crate::domain::transition::next;

/// Serialises claims while a cap below the pool's size is set: counts would race under READ COMMITTED.
const CAP_LOCK: &str = "SELECT pg_advisory_xact_lock(727465637)";

impl Ledger {
    /// Claims a due row and leases a pair for it, unless it still holds one.
    ///
    /// # Errors
    /// The database did not answer. A claim whose commit is unknown lapses by itself.
    pub async fn claim(&self, id: SubmissionId) -> Result<ClaimOutcome, LedgerError> {
        let rules = self.rules;
        self.db
            .write(move |tx| Box::pin(async move { claim(tx, &rules, id).await }))
            .await
    }

    /// Records the envelope of a claim: the row becomes `submitted`. Whoever claimed it later, or moved it, wins.
    ///
    /// # Errors
    /// The database did not answer. After [`LedgerError::CommitUnknown`] the envelope must not be sent by the caller.
    pub async fn record(
        &self,
        claim: &Claim,
        envelope: Envelope,
        sent_after_ledger: u32,
    ) -> Result<Applied, LedgerError> {
        let change = Change {
            tx_hash: Some(envelope.hash),
            ..Change::new(&claim.submission, Event::EnvelopeRecorded, "worker")
        };
        self.record_under(change, Some(claim.fence), envelope, sent_after_ledger)
            .await
    }

    /// Records another envelope of a pair in flight, such as a fee-bump.
    ///
    /// # Errors
    /// As [`Ledger::record`].
    pub async fn record_bump(
        &self,
        id: SubmissionId,
        version: Version,
        envelope: Envelope,
        sent_after_ledger: u32,
    ) -> Result<Applied, LedgerError> {
        let change = Change::of(id, version, Event::EnvelopeRecorded, "reconciler");
        self.record_under(change, None, envelope, sent_after_ledger)
            .await
    }

    async fn record_under(
        &self,
        mut change: Change,
        fence: Option<Fence>,
        envelope: Envelope,
        sent_after_ledger: u32,
    ) -> Result<Applied, LedgerError> {
        let rules = self.rules;
        change.tx_hash = Some(envelope.hash);
        // Whoever records it may die before sending it.
        change.sending = Some(SendPlan::Resend(rules.resend_after));
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let applied = transition(tx, &rules, &change, fence).await?;
                    if let Applied::Done(row) = &applied {
                        if row.pair != Some(envelope.pair) {
                            return Err(convert::corrupt("pair of an envelope"));
                        }
                        insert_attempt(
                            tx,
                            row.id,
                            row.state.generation,
                            &envelope,
                            sent_after_ledger,
                        )
                        .await?;
                    }
                    Ok(applied)
                })
            })
            .await
    }
}

async fn insert_attempt(
    tx: &DatabaseTransaction,
    id: SubmissionId,
    generation: u32,
    envelope: &Envelope,
    sent_after_ledger: u32,
) -> Result<(), DbErr> {
    let now = db::now(tx).await?;
    let row = attempt::ActiveModel {
        submission_id: Set(id.0),
        generation: Set(convert::stored(generation)),
        source_account: Set(envelope.pair.account.to_string()),
        sequence: Set(envelope.pair.sequence),
        hash: Set(envelope.hash.to_string()),
        inner_hash: Set(envelope.inner_hash.map(|hash| hash.to_string())),
        envelope_xdr: Set(envelope.xdr.clone()),
        fee: Set(envelope.fee),
        operations: Set(envelope.operations),
        max_time: Set(i64::try_from(envelope.max_time).map_err(convert::corrupt)?),
        sent_after_ledger: Set(i64::from(sent_after_ledger)),
        settled: Set(false),
        created_at: Set(now),
        ..Default::default()
    };
    row.insert(tx).await?;
    submission::Entity::update_many()
        .col_expr(
            submission::Column::AttemptCount,
            Expr::col(submission::Column::AttemptCount).add(1),
        )
        .filter(submission::Column::Id.eq(id.0))
        .exec(tx)
        .await
        .map(drop)
}

async fn claim(
    tx: &DatabaseTransaction,
    rules: &Rules,
    id: SubmissionId,
) -> Result<ClaimOutcome, DbErr> {
    let Some(row) = locked(tx, id.0).await? else {
        return Ok(ClaimOutcome::NotDue);
    };
    let now = db::now(tx).await?;
    if convert::status_of(&row.status)? != Status::Pending || row.next_attempt_at > now {
        return Ok(ClaimOutcome::NotDue);
    }
    if at_cap(tx, rules).await? {
        return no_channel(tx, &row).await;
    }
    let Some(pair) = lease(tx, &row, now).await? else {
        return no_channel(tx, &row).await;
    };
    let state = convert::state(&row)?;
    let Ok(next) = next(&state, &Event::Claimed, rules.budget) else {
        return Ok(ClaimOutcome::NotDue);
    };
    let fence = Fence(uuid::Uuid::new_v4());
    let mut values = row.clone().into_active_model();
    values.status = Set(next.state.status.as_str().to_owned());
    values.claims = Set(convert::stored(next.state.claims));
    values.pair_held = Set(next.state.holds_pair);
    values.source_account = Set(Some(pair.account.to_string()));
    values.sequence = Set(Some(pair.sequence));
    values.fence = Set(Some(fence.0));
    let ttl = Millis::try_from(rules.claim_ttl.as_millis()).unwrap_or(Millis::MAX);
    values.claim_until = Set(Some(now.saturating_add(ttl)));
    values.version = Set(row.version + 1);
    values.updated_at = Set(now);
    set_plan(&mut values, &SendPlan::Wait, now);
    let written = compare_and_set(tx, &row, values).await?;
    let change = Change::of(id, Version(row.version), Event::Claimed, "worker");
    append(tx, &row, &written, &change, now).await?;
    let submission = convert::submission(written)?;
    Ok(ClaimOutcome::Claimed(Box::new(Claim {
        submission,
        pair,
        fence,
    })))
}

/// Whether as many submissions are under way as the cap allows. INDETERMINATE ones do not count.
async fn at_cap(tx: &DatabaseTransaction, rules: &Rules) -> Result<bool, DbErr> {
    let Some(cap) = rules.max_in_flight else {
        return Ok(false);
    };
    if tx.get_database_backend() == DbBackend::Postgres {
        tx.execute_unprepared(CAP_LOCK).await?;
    }
    let under_way = [Status::Building, Status::Submitted, Status::Confirming].map(Status::as_str);
    let count = submission::Entity::find()
        .filter(submission::Column::Status.is_in(under_way))
        .filter(submission::Column::Verdict.ne(Verdict::Indeterminate.as_str()))
        .count(tx)
        .await?;
    Ok(count >= cap)
}

/// The pair that the row holds, or that of the free channel used longest ago.
async fn lease(
    tx: &DatabaseTransaction,
    row: &submission::Model,
    now: Millis,
) -> Result<Option<Pair>, DbErr> {
    if let (Some(account), Some(sequence), true) =
        (&row.source_account, row.sequence, row.pair_held)
    {
        return convert::pair(account, sequence).map(Some);
    }
    let free = channel::Entity::find()
        .filter(channel::Column::State.eq(ChannelState::Free.as_str()))
        .order_by_asc(channel::Column::LastUsedAt)
        .limit(1);
    let free = match tx.get_database_backend() {
        DbBackend::Postgres => free.lock_with_behavior(LockType::Update, LockBehavior::SkipLocked),
        _ => free,
    };
    let Some(free) = free.one(tx).await? else {
        return Ok(None);
    };
    let pair = convert::pair(&free.account, free.next_sequence)?;
    let mut leased = free.into_active_model();
    leased.state = Set(ChannelState::Leased.as_str().to_owned());
    leased.leased_by = Set(Some(row.id));
    leased.last_used_at = Set(now);
    leased.update(tx).await?;
    Ok(Some(pair))
}

/// Leaves the row as it is, for the feed to push its next round.
async fn no_channel(
    tx: &DatabaseTransaction,
    row: &submission::Model,
) -> Result<ClaimOutcome, DbErr> {
    submission::Entity::update_many()
        .set(submission::ActiveModel {
            dispatched_at: Set(None),
            ..Default::default()
        })
        .filter(submission::Column::Id.eq(row.id))
        .exec(tx)
        .await?;
    Ok(ClaimOutcome::NoChannel)
}
