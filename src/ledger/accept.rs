//! Accepting: one insert that the unique key makes idempotent. Calls that wait for each other share it.

use std::collections::HashMap;

use sea_orm::sea_query::{ExprTrait as _, OnConflict};
use sea_orm::{
    ColumnTrait as _, Condition, DatabaseTransaction, DbErr, EntityTrait as _, QueryFilter as _,
    Set,
};
use tokio::sync::{mpsc, oneshot};

use super::db::{self, Db};
use super::entity::submission;
use super::types::{Accepted, LedgerError, Millis, NewSubmission};
use super::{Ledger, convert};
use crate::domain::key::KeyTag;
use crate::domain::submission::State;

/// Submissions that share one insert at most.
const BATCH: usize = 200;
/// Submissions that may wait for an insert; more callers wait in line.
const WAITING: usize = 4096;
/// Inserts under way at once, so that the next one fills up while the last one is committed.
const AT_ONCE: usize = 2;

type Answer = Result<Accepted, LedgerError>;
type Waiting = (NewSubmission, oneshot::Sender<Answer>);

/// The entrance: takes submissions from any task and inserts them in batches.
#[derive(Clone)]
pub(super) struct Entrance(mpsc::Sender<Waiting>);

impl Entrance {
    /// Opens the entrance of a database.
    pub(super) fn open(db: Db) -> Self {
        let (sender, waiting) = mpsc::channel(WAITING);
        tokio::spawn(accept_batches(db, waiting));
        Self(sender)
    }
}

impl Ledger {
    /// Accepts a submission, durably. The same tenant and key always give the same row.
    ///
    /// # Errors
    /// The database did not answer. Accepting the same submission again is always safe.
    pub async fn accept(&self, new: NewSubmission) -> Result<Accepted, LedgerError> {
        let stopped = || LedgerError::Unavailable("accepting has stopped".to_owned());
        let (answer, answered) = oneshot::channel();
        self.entrance
            .0
            .send((new, answer))
            .await
            .map_err(|_| stopped())?;
        answered.await.unwrap_or_else(|_| Err(stopped()))
    }
}

async fn accept_batches(db: Db, mut waiting: mpsc::Receiver<Waiting>) {
    let slots = std::sync::Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let Ok(slot) = std::sync::Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        if waiting.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        let (news, answers): (Vec<_>, Vec<_>) = std::mem::take(&mut batch).into_iter().unzip();
        let db = db.clone();
        tokio::spawn(async move {
            answer_all(answers, accept_batch(&db, news).await);
            drop(slot);
        });
    }
}

fn answer_all(answers: Vec<oneshot::Sender<Answer>>, outcome: Result<Vec<Accepted>, LedgerError>) {
    // A caller that went away asks again with the same key.
    match outcome {
        Ok(accepted) => answers
            .into_iter()
            .zip(accepted)
            .for_each(|(answer, accepted)| drop(answer.send(Ok(accepted)))),
        Err(error) => answers
            .into_iter()
            .for_each(|answer| drop(answer.send(Err(error.clone())))),
    }
}

async fn accept_batch(db: &Db, news: Vec<NewSubmission>) -> Result<Vec<Accepted>, LedgerError> {
    db.write(move |tx| Box::pin(async move { insert(tx, &news).await }))
        .await
}

async fn insert(tx: &DatabaseTransaction, news: &[NewSubmission]) -> Result<Vec<Accepted>, DbErr> {
    let now = db::now(tx).await?;
    let key = [
        submission::Column::Tenant,
        submission::Column::IdempotencyKey,
    ];
    let inserted = submission::Entity::insert_many(news.iter().map(|new| row(new, now)))
        .on_conflict(OnConflict::columns(key).do_nothing().to_owned())
        .exec_with_returning(tx)
        .await?;
    let mut new_rows: HashMap<_, _> = inserted
        .into_iter()
        .map(|row| ((row.tenant.clone(), row.idempotency_key.clone()), row))
        .collect();
    let name = |new: &NewSubmission| (new.tenant.as_str().to_owned(), new.key.as_str().to_owned());
    let known: Vec<_> = news
        .iter()
        .map(name)
        .filter(|name| !new_rows.contains_key(name))
        .collect();
    let mut known_rows = existing(tx, known).await?;
    known_rows.extend(
        new_rows
            .iter()
            .map(|(name, row)| (name.clone(), row.clone())),
    );
    news.iter()
        .map(|new| {
            // Of several under one key within a batch the first is new.
            if let Some(row) = new_rows.remove(&name(new)) {
                return convert::submission(row).map(Accepted::New);
            }
            let row = known_rows
                .get(&name(new))
                .ok_or_else(|| convert::corrupt(new.key.as_str()))?;
            convert::submission(row.clone()).map(Accepted::Existing)
        })
        .collect()
}

type ByKey = HashMap<(String, String), submission::Model>;

async fn existing(tx: &DatabaseTransaction, names: Vec<(String, String)>) -> Result<ByKey, DbErr> {
    if names.is_empty() {
        return Ok(ByKey::new());
    }
    let any = names
        .into_iter()
        .fold(Condition::any(), |any, (tenant, key)| {
            any.add(
                submission::Column::Tenant
                    .eq(tenant)
                    .and(submission::Column::IdempotencyKey.eq(key)),
            )
        });
    let rows = submission::Entity::find().filter(any).all(tx).await?;
    Ok(rows
        .into_iter()
        .map(|row| ((row.tenant.clone(), row.idempotency_key.clone()), row))
        .collect())
}

fn row(new: &NewSubmission, now: Millis) -> submission::ActiveModel {
    let state = State::ACCEPTED;
    submission::ActiveModel {
        id: Set(uuid::Uuid::new_v4()),
        tenant: Set(new.tenant.as_str().to_owned()),
        idempotency_key: Set(new.key.as_str().to_owned()),
        tag: Set(convert::stored_tag(KeyTag::of(&new.tenant, &new.key))),
        kind: Set(new.kind.as_str().to_owned()),
        priority: Set(new.priority.rank()),
        business_ref: Set(new.business_ref.clone()),
        payload: Set(new.payload.clone()),
        fingerprint: Set(hex::encode(new.fingerprint.0)),
        status: Set(state.status.as_str().to_owned()),
        verdict: Set(state.verdict.as_str().to_owned()),
        category: Set(None),
        source_account: Set(None),
        sequence: Set(None),
        pair_held: Set(state.holds_pair),
        transient_failures: Set(0),
        claims: Set(0),
        generation: Set(0),
        version: Set(1),
        fence: Set(None),
        claim_until: Set(None),
        tx_hash: Set(None),
        last_error: Set(None),
        send_state: Set("waiting".to_owned()),
        send_at: Set(None),
        send_required: Set(None),
        send_operations: Set(None),
        stop_class: Set(None),
        attempt_count: Set(0),
        evidence: Set(None),
        next_attempt_at: Set(now),
        round: Set(0),
        dispatched_at: Set(None),
        created_at: Set(now),
        updated_at: Set(now),
    }
}
