//! Claiming: of any number of claimants exactly one gets a due row, and with it a pair.

use futures::FutureExt;
use sea_orm::sea_query::{Expr, LockBehavior, LockType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, DbBackend, EntityTrait, Order,
    PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, Statement,
};

use super::entity::{channel, submission};
use super::memory::{Admitted, Gate};
use super::transition::{Brings, locked, transit};
use super::types::{Applied, Change, Claim, ClaimOutcome, LedgerError, Rules};
use super::{Ledger, recovered, row};
use crate::domain::ids::{AccountId, Fence, Pair, SubmissionId};
use crate::domain::submission::{Event, Status};

/// Key of the lock under which the cap is checked and rows are claimed: counts race otherwise.
const CAP_LOCK: i64 = 0x7465_6e64_0001;

impl Ledger {
    /// Claims a row that is pending and due. It keeps the pair it holds, or leases one.
    ///
    /// # Errors
    /// [`LedgerError`]. A claim that was made although its answer was lost lapses.
    pub async fn claim(&self, id: SubmissionId) -> Result<ClaimOutcome, LedgerError> {
        self.claim_within(id, None).await
    }

    /// The same, but a pair is leased from those accounts only: those that the claimant can sign for.
    ///
    /// # Errors
    /// As [`Ledger::claim`].
    pub async fn claim_among(
        &self,
        id: SubmissionId,
        accounts: &[AccountId],
    ) -> Result<ClaimOutcome, LedgerError> {
        let accounts = accounts.iter().map(ToString::to_string).collect();
        self.claim_within(id, Some(accounts)).await
    }

    async fn claim_within(
        &self,
        id: SubmissionId,
        among: Option<Vec<String>>,
    ) -> Result<ClaimOutcome, LedgerError> {
        self.admitted(Gate::Open, move |at| claim(at, id, among).boxed())
            .await
    }
}

async fn claim(
    at: Admitted<'_>,
    id: SubmissionId,
    among: Option<Vec<String>>,
) -> Result<ClaimOutcome, LedgerError> {
    let tx = at.tx;
    let Some((row, now)) = locked(tx, id).await? else {
        return Ok(ClaimOutcome::NotDue);
    };
    if row.state.status != Status::Pending || row.next_attempt_at > now {
        return Ok(ClaimOutcome::NotDue);
    }
    if let Some(paid) = recovered::paid(tx, row.tag).await? {
        return Ok(ClaimOutcome::Paid(Box::new(row), Box::new(paid)));
    }
    if !below_cap(tx, &at.rules).await? {
        return no_channel(tx, id).await;
    }
    let pair = match row.pair.filter(|_| row.state.holds_pair) {
        Some(held) => held,
        None => match free_pair(tx, among).await? {
            Some(pair) => pair,
            None => return no_channel(tx, id).await,
        },
    };
    let fence = Fence(uuid::Uuid::new_v4());
    let change = Change::new(&row, Event::Claimed, "worker");
    let brings = Brings::Claim {
        pair,
        fence,
        leases: true,
    };
    match step!("claim.transit", transit(at, &row, &change, brings).await)? {
        Applied::Done(submission) => Ok(ClaimOutcome::Claimed(Box::new(Claim {
            submission: *submission,
            pair,
            fence,
        }))),
        Applied::Stale | Applied::Illegal(_) | Applied::NotFound => Ok(ClaimOutcome::NotDue),
    }
}

/// Whether one more submission may be in flight.
///
/// Locks are taken in one order, the row's before this one, so that claimants wait and never deadlock.
pub(super) async fn below_cap(
    tx: &DatabaseTransaction,
    rules: &Rules,
) -> Result<bool, LedgerError> {
    let Some(cap) = rules.max_in_flight else {
        return Ok(true);
    };
    lock(tx, CAP_LOCK).await?;
    Ok(in_flight(tx).await? < cap)
}

/// Submissions in flight. Each holds a pair, so the index over held pairs is all that is read; rows whose outcome is out
/// of reach hold none and do not count.
pub(super) async fn in_flight(tx: &DatabaseTransaction) -> Result<u64, LedgerError> {
    let in_flight = submission::Entity::find()
        .filter(Expr::cust("pair_held"))
        .filter(submission::Column::Status.ne(Status::Pending.as_str()));
    Ok(in_flight.count(tx).await?)
}

/// Holds everybody else who asks for the same lock off until the transaction ends. `SQLite` has one writer anyway.
pub(super) async fn lock(tx: &DatabaseTransaction, key: i64) -> Result<(), LedgerError> {
    if tx.get_database_backend() == DbBackend::Postgres {
        let statement = Statement::from_sql_and_values(
            DbBackend::Postgres,
            "SELECT pg_advisory_xact_lock($1)",
            [key.into()],
        );
        tx.execute_raw(statement).await?;
    }
    Ok(())
}

/// No submission holds a sequence of the account: it is not one that several share.
const SHARED_BY_NONE: &str = "NOT EXISTS (SELECT 1 FROM submission_ledger \
     WHERE source_account = channel_accounts.account AND pair_held)";

/// The account that has rested longest, locked, with its next sequence. Accounts that others are leasing at this
/// moment are passed over, and so is one whose sequences were handed out one by one: that comes free with the last.
async fn free_pair(
    tx: &DatabaseTransaction,
    among: Option<Vec<String>>,
) -> Result<Option<Pair>, LedgerError> {
    let mut free = channel::Entity::find()
        .filter(Expr::cust("state = 'free'"))
        .filter(Expr::cust(SHARED_BY_NONE));
    if let Some(accounts) = among {
        free = free.filter(channel::Column::Account.is_in(accounts));
    }
    let free = free
        .order_by(channel::Column::LastUsedAt, Order::Asc)
        .order_by(channel::Column::Account, Order::Asc)
        .limit(1)
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
        .one(tx)
        .await?;
    free.map(|channel| {
        Ok(Pair {
            account: row::parsed("account", &channel.account)?,
            sequence: channel.next_sequence,
        })
    })
    .transpose()
}

/// The row stays as it is, but for being dispatched: the feed may push its next round.
pub(super) async fn no_channel(
    tx: &DatabaseTransaction,
    id: SubmissionId,
) -> Result<ClaimOutcome, LedgerError> {
    use submission::Column as C;
    let undispatch = submission::Entity::update_many()
        .filter(C::Id.eq(id.0))
        .filter(C::DispatchedAt.is_not_null())
        .col_expr(C::DispatchedAt, Expr::val(None::<i64>));
    step!("claim.no_channel", undispatch.exec(tx).await)?;
    Ok(ClaimOutcome::NoChannel)
}
