//! How far the reconcilers are, for processes that cannot see them. Nothing is decided by it.

use std::time::Duration;

use futures::FutureExt;
use sea_orm::sea_query::{Expr, OnConflict, Query};
use sea_orm::{
    ConnectionTrait, DatabaseTransaction, EntityTrait, FromQueryResult, QuerySelect, QueryTrait,
};

use super::entity::progress::{Column, Entity, Model};
use super::entity::submission;
use super::types::{LedgerError, Millis};
use super::{Ledger, clock};

/// The one row: whichever reconciler passed last.
const ROW: i16 = 1;

/// A pass that was finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The last ledger of the network then known.
    pub ledger: u32,
    /// When that ledger closed, in unix seconds, by the network's clock.
    pub close_time: u64,
    /// Longest usual time to the next pass.
    pub period: Duration,
}

/// The last pass of any reconciler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The pass.
    pub pass: Pass,
    /// How long ago it was finished, by the database's clock.
    pub age: Duration,
    /// Rows that hold a pair now.
    pub leases: u64,
    /// The longest time that one of them has not moved.
    pub stillest: Option<Duration>,
    /// Rows whose outcome is out of reach.
    pub out_of_reach: u64,
}

impl Ledger {
    /// Notes a finished pass.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn note_progress(&self, pass: Pass) -> Result<(), LedgerError> {
        self.store
            .write(move |tx| async move { note(tx, pass).await }.boxed())
            .await
    }

    /// The last pass noted; none before any reconciler finished one.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn progress(&self) -> Result<Option<Progress>, LedgerError> {
        let db = self.store.reader();
        let query = Entity::find_by_id(ROW)
            .expr_as(clock::now(db), "db_now")
            .expr_as(of_rows("count(*)", "pair_held"), "leases")
            .expr_as(of_rows("min(updated_at)", "pair_held"), "stillest")
            .expr_as(
                of_rows("count(*)", "verdict = 'INDETERMINATE'"),
                "out_of_reach",
            )
            .into_query();
        let Some(row) = db.query_one(&query).await? else {
            return Ok(None);
        };
        let model = Model::from_query_result(&row, "")?;
        let now: Millis = row.try_get("", "db_now")?;
        let count = |name| Ok::<_, LedgerError>(row.try_get::<i64>("", name)?.cast_unsigned());
        let stillest: Option<Millis> = row.try_get("", "stillest")?;
        Ok(Some(Progress {
            pass: pass(&model)?,
            age: ago(now, model.passed_at),
            leases: count("leases")?,
            stillest: stillest.map(|at| ago(now, at)),
            out_of_reach: count("out_of_reach")?,
        }))
    }
}

/// An aggregate of the rows under a condition, which an index has.
fn of_rows(aggregate: &'static str, condition: &'static str) -> Expr {
    let mut query = Query::select();
    query
        .expr(Expr::cust(aggregate))
        .from(submission::Entity)
        .and_where(Expr::cust(condition));
    Expr::SubQuery(None, Box::new(query.into()))
}

async fn note(tx: &DatabaseTransaction, pass: Pass) -> Result<(), LedgerError> {
    let period = Millis::try_from(pass.period.as_millis()).unwrap_or(Millis::MAX);
    let rest = [
        Column::Ledger,
        Column::CloseTime,
        Column::Period,
        Column::PassedAt,
    ];
    let mut insert = Query::insert();
    insert
        .into_table(Entity)
        .columns([Column::Id].into_iter().chain(rest))
        .values([
            Expr::val(ROW),
            Expr::val(i64::from(pass.ledger)),
            Expr::val(i64::try_from(pass.close_time).unwrap_or(i64::MAX)),
            Expr::val(period),
            clock::now(tx),
        ])
        .map_err(|fault| LedgerError::Corrupt(fault.to_string()))?
        .on_conflict(
            OnConflict::column(Column::Id)
                .update_columns(rest)
                .to_owned(),
        );
    step!("progress.insert", tx.execute(&insert).await)?;
    Ok(())
}

fn pass(row: &Model) -> Result<Pass, LedgerError> {
    let corrupt = |_| LedgerError::Corrupt("the progress of the reconcilers".to_owned());
    Ok(Pass {
        ledger: u32::try_from(row.ledger).map_err(corrupt)?,
        close_time: u64::try_from(row.close_time).map_err(corrupt)?,
        period: Duration::from_millis(u64::try_from(row.period).map_err(corrupt)?),
    })
}

/// A database's clock may be set back: what seems to lie ahead was just now.
fn ago(now: Millis, at: Millis) -> Duration {
    Duration::from_millis(u64::try_from(now.saturating_sub(at)).unwrap_or(0))
}
