//! The pool of channel accounts, as staff see it. Leasing and freeing happen with transitions only.

use futures::FutureExt;
use sea_orm::sea_query::{Expr, OnConflict, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, EntityTrait, FromQueryResult, Order,
    QueryFilter, QueryOrder, QuerySelect, QueryTrait,
};

use super::entity::channel::{Column, Entity};
use super::memory::Gate;
use super::types::{Channel, ChannelState, LedgerError, PoolCounts};
use super::{Ledger, clock, row};
use crate::domain::ids::AccountId;

impl Ledger {
    /// Adds accounts with the sequence they have on the chain. Accounts that are known stay as they are: the ledger
    /// knows their next sequence better. Answers how many were new.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn add_channels(&self, accounts: &[(AccountId, i64)]) -> Result<u64, LedgerError> {
        let accounts = accounts.to_vec();
        // What an account was used for before it came into the pool is not looked for once it is in it.
        self.admitted(Gate::Open, move |at| {
            async move { add(at.tx, &accounts).await }.boxed()
        })
        .await
    }

    /// The pool.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn channels(&self) -> Result<Vec<Channel>, LedgerError> {
        Entity::find()
            .order_by(Column::Account, Order::Asc)
            .all(self.store.reader())
            .await?
            .into_iter()
            .map(Channel::try_from)
            .collect()
    }

    /// How the pool stands.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn pool(&self) -> Result<PoolCounts, LedgerError> {
        #[derive(FromQueryResult)]
        struct Count {
            state: String,
            number: i64,
        }
        // One statement, so that the counts are of one moment.
        let rows = Entity::find()
            .select_only()
            .column(Column::State)
            .column_as(Expr::cust("count(*)"), "number")
            .group_by(Column::State)
            .into_model::<Count>()
            .all(self.store.reader())
            .await?;
        let mut counts = PoolCounts::default();
        for row in rows {
            let number = row.number.cast_unsigned();
            match row::channel_state(&row.state)? {
                ChannelState::Free => counts.free = number,
                ChannelState::Leased => counts.leased = number,
                ChannelState::Quarantined => counts.quarantined = number,
            }
        }
        Ok(counts)
    }

    /// Sets a free account aside. False for one that is not free: a leased one is its submission's to decide.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn quarantine(&self, account: AccountId, reason: &str) -> Result<bool, LedgerError> {
        let reason = reason.to_owned();
        self.store
            .write(move |tx| {
                async move {
                    let values = [
                        (Column::State, Expr::val(ChannelState::Quarantined.as_str())),
                        (Column::Reason, Expr::val(reason)),
                    ];
                    change(tx, account, ChannelState::Free, values).await
                }
                .boxed()
            })
            .await
    }

    /// Takes an account that was set aside back into the pool, after somebody compared it with the chain, where it has
    /// the sequence `seq_num`. False for one that was not set aside.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn release_verified(
        &self,
        account: AccountId,
        seq_num: i64,
        reason: &str,
    ) -> Result<bool, LedgerError> {
        let next = seq_num.saturating_add(1);
        // Its next sequence passes over what was used before.
        let done = self
            .admitted(Gate::Open, move |at| {
                async move {
                    let values = [
                        (Column::State, Expr::val(ChannelState::Free.as_str())),
                        (Column::Reason, Expr::val(None::<String>)),
                        (Column::NextSequence, Expr::val(next)),
                    ];
                    change(at.tx, account, ChannelState::Quarantined, values).await
                }
                .boxed()
            })
            .await?;
        if done {
            tracing::info!(%account, seq_num, reason, "channel account back in the pool");
        }
        Ok(done)
    }
}

async fn add(tx: &DatabaseTransaction, accounts: &[(AccountId, i64)]) -> Result<u64, LedgerError> {
    let mut added = 0;
    for (account, sequence) in accounts {
        let mut insert = Query::insert();
        insert
            .into_table(Entity)
            .columns([
                Column::Account,
                Column::State,
                Column::NextSequence,
                Column::LastUsedAt,
                Column::CreatedAt,
            ])
            .values([
                Expr::val(account.to_string()),
                Expr::val(ChannelState::Free.as_str()),
                Expr::val(sequence.saturating_add(1)),
                clock::now(tx),
                clock::now(tx),
            ])
            .map_err(|fault| LedgerError::Corrupt(fault.to_string()))?
            .on_conflict(OnConflict::column(Column::Account).do_nothing().to_owned());
        let inserted = step!("provision.insert", tx.execute(&insert).await)?;
        added += inserted.rows_affected();
    }
    Ok(added)
}

async fn change<const N: usize>(
    tx: &DatabaseTransaction,
    account: AccountId,
    from: ChannelState,
    values: [(Column, Expr); N],
) -> Result<bool, LedgerError> {
    let mut update = Entity::update_many()
        .filter(Column::Account.eq(account.to_string()))
        .filter(Column::State.eq(from.as_str()))
        .into_query();
    update.values(values);
    let changed = step!("channels.change", tx.execute(&update).await)?;
    Ok(changed.rows_affected() == 1)
}
