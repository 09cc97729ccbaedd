//! Accepting: one durable insert per key, and none for a key that exists. Callers who come together share a commit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::FutureExt;
use sea_orm::sea_query::{Expr, OnConflict, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, EntityTrait, FromQueryResult, QueryFilter,
};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::entity::submission::{Column, Entity, Model};
use super::store::Store;
use super::types::{Accepted, LedgerError, NewSubmission, Submission};
use super::{Ledger, clock};
use crate::domain::ids::SubmissionId;
use crate::domain::key::KeyTag;
use crate::domain::submission::State;

/// Submissions under one commit.
const BATCH: usize = 256;
/// Callers that may wait before more of them do.
const QUEUE: usize = 4096;
/// Batches on their way at once: while one is committed the next is gathered.
const IN_FLIGHT: usize = 3;

/// Where callers hand submissions in.
pub(super) type Desk = mpsc::Sender<Caller>;

/// A submission and whoever waits for its acceptance.
pub(super) struct Caller {
    new: NewSubmission,
    answer: oneshot::Sender<Result<Accepted, LedgerError>>,
}

impl Ledger {
    /// Accepts a submission durably, once per tenant and key.
    ///
    /// # Errors
    /// [`LedgerError`]. After [`LedgerError::CommitUnknown`] the same call again tells what came of it.
    pub async fn accept(&self, new: NewSubmission) -> Result<Accepted, LedgerError> {
        let (answer, answered) = oneshot::channel();
        let ended = "the ledger is shutting down";
        self.desk
            .send(Caller { new, answer })
            .await
            .map_err(|_| LedgerError::Unavailable(ended.to_owned()))?;
        answered
            .await
            .unwrap_or_else(|_| Err(LedgerError::CommitUnknown(ended.to_owned())))
    }
}

/// Opens the desk. It closes with the last sender.
pub(super) fn open(store: Store) -> Desk {
    let (desk, mut callers) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let gate = Arc::new(Semaphore::new(IN_FLIGHT));
        // Whoever comes while all batches are on their way joins the next one.
        while let Ok(passage) = Arc::clone(&gate).acquire_owned().await {
            let mut batch = Vec::new();
            if callers.recv_many(&mut batch, BATCH).await == 0 {
                return;
            }
            let store = store.clone();
            tokio::spawn(async move {
                serve(&store, batch).await;
                drop(passage);
            });
        }
    });
    desk
}

async fn serve(store: &Store, batch: Vec<Caller>) {
    let (news, answers): (Vec<_>, Vec<_>) = batch
        .into_iter()
        .map(|caller| (caller.new, caller.answer))
        .unzip();
    let news = Arc::new(news);
    match step!("accept.batch", insert(store, Arc::clone(&news)).await) {
        Ok(accepted) => {
            for (answer, accepted) in answers.into_iter().zip(accepted) {
                let _ = step!("accept.answer", answer.send(Ok(accepted)));
            }
        }
        // One row that the database refuses must not hurt the others.
        Err(LedgerError::Corrupt(_)) if news.len() > 1 => {
            for (answer, new) in answers.into_iter().zip(news.iter()) {
                let one = insert(store, Arc::new(vec![new.clone()])).await;
                let _ = answer.send(one.and_then(only));
            }
        }
        Err(error) => {
            for answer in answers {
                let _ = answer.send(Err(error.clone()));
            }
        }
    }
}

fn only(accepted: Vec<Accepted>) -> Result<Accepted, LedgerError> {
    accepted.into_iter().next().ok_or_else(vanished)
}

fn vanished() -> LedgerError {
    LedgerError::Corrupt("a key conflicts with a row that is not there".to_owned())
}

async fn insert(
    store: &Store,
    news: Arc<Vec<NewSubmission>>,
) -> Result<Vec<Accepted>, LedgerError> {
    store
        .write(move |tx| async move { insert_all(tx, &news).await }.boxed())
        .await
}

/// A tenant and a key.
type Name = (String, String);

fn name(new: &NewSubmission) -> Name {
    (new.tenant.as_str().to_owned(), new.key.as_str().to_owned())
}

/// One answer for each, in their order.
pub(super) async fn insert_all(
    tx: &DatabaseTransaction,
    news: &[NewSubmission],
) -> Result<Vec<Accepted>, LedgerError> {
    let mut rows = insert_new(tx, news).await?;
    let mut fresh: HashSet<SubmissionId> = rows.values().map(|row| row.id).collect();
    let missing: Vec<_> = news
        .iter()
        .filter(|new| !rows.contains_key(&name(new)))
        .collect();
    for row in existing(tx, &missing).await? {
        rows.insert(
            (row.tenant.as_str().to_owned(), row.key.as_str().to_owned()),
            row,
        );
    }
    news.iter()
        .map(|new| {
            let row = rows.get(&name(new)).cloned().ok_or_else(vanished)?;
            // The first caller of a new key made it; the others of the same batch find it.
            Ok(if fresh.remove(&row.id) {
                Accepted::New(row)
            } else {
                Accepted::Existing(row)
            })
        })
        .collect()
}

/// Inserts what is new and returns it by name.
async fn insert_new(
    tx: &DatabaseTransaction,
    news: &[NewSubmission],
) -> Result<HashMap<Name, Submission>, LedgerError> {
    // In one order everywhere, so that two batches with the same keys wait for each other and never deadlock.
    let mut order: Vec<&NewSubmission> = news.iter().collect();
    order.sort_by(|a, b| (&a.tenant, &a.key).cmp(&(&b.tenant, &b.key)));
    // Within the batch the first of a key counts; the sort is stable.
    order.dedup_by(|later, first| later.tenant == first.tenant && later.key == first.key);
    let mut insert = Query::insert();
    insert.into_table(Entity).columns(COLUMNS);
    for new in order {
        insert
            .values(values(tx, new))
            .map_err(|fault| LedgerError::Corrupt(fault.to_string()))?;
    }
    insert
        .on_conflict(
            OnConflict::columns([Column::Tenant, Column::IdempotencyKey])
                .do_nothing()
                .to_owned(),
        )
        .returning_all();
    let mut rows = HashMap::new();
    for row in step!("accept.insert", tx.query_all(&insert).await)? {
        let row = Submission::try_from(Model::from_query_result(&row, "")?)?;
        rows.insert(
            (row.tenant.as_str().to_owned(), row.key.as_str().to_owned()),
            row,
        );
    }
    Ok(rows)
}

const COLUMNS: [Column; 23] = [
    Column::Id,
    Column::Tenant,
    Column::IdempotencyKey,
    Column::KeyTag,
    Column::LogicalOperation,
    Column::Priority,
    Column::BusinessRef,
    Column::Payload,
    Column::Fingerprint,
    Column::Status,
    Column::Verdict,
    Column::PairHeld,
    Column::TransientFailures,
    Column::Claims,
    Column::Generation,
    Column::Version,
    Column::SendState,
    Column::AttemptCount,
    Column::DispatchRound,
    Column::NextAttemptAt,
    Column::CreatedAt,
    Column::UpdatedAt,
    Column::Category,
];

fn values(tx: &DatabaseTransaction, new: &NewSubmission) -> [Expr; COLUMNS.len()] {
    let state = State::ACCEPTED;
    // What is the same for every row is written out rather than bound.
    let constant = |sql: &'static str| Expr::cust(sql);
    [
        Expr::val(uuid::Uuid::new_v4()),
        Expr::val(new.tenant.as_str()),
        Expr::val(new.key.as_str()),
        Expr::val(KeyTag::of(&new.tenant, &new.key).0.cast_signed()),
        Expr::val(new.kind.as_str()),
        Expr::val(new.priority.rank()),
        Expr::val(new.business_ref.as_deref()),
        Expr::val(new.payload.to_string()),
        Expr::val(hex::encode(new.fingerprint.0)),
        Expr::val(state.status.as_str()),
        Expr::val(state.verdict.as_str()),
        constant("FALSE"),
        constant("0"),
        constant("0"),
        constant("0"),
        constant("0"),
        constant("'waiting'"),
        constant("0"),
        constant("0"),
        clock::now(tx),
        clock::now(tx),
        clock::now(tx),
        constant("NULL"),
    ]
}

async fn existing(
    tx: &DatabaseTransaction,
    missing: &[&NewSubmission],
) -> Result<Vec<Submission>, LedgerError> {
    let mut rows = Vec::new();
    for new in missing {
        let found = Entity::find()
            .filter(Column::Tenant.eq(new.tenant.as_str()))
            .filter(Column::IdempotencyKey.eq(new.key.as_str()))
            .one(tx)
            .await?;
        rows.extend(found.map(Submission::try_from).transpose()?);
    }
    Ok(rows)
}
