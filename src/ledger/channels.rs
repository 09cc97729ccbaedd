//! The pool of channel accounts.

use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait as _, EntityTrait as _, QueryFilter as _, QueryOrder as _, Set};

use super::entity::channel;
use super::read::read;
use super::types::{Channel, ChannelState, LedgerError, PoolCounts};
use super::{Ledger, convert, db};
use crate::domain::ids::AccountId;

impl Ledger {
    /// Enters accounts into the pool, each with its sequence number on the chain. Those already in it are left alone.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn add_channels(&self, accounts: &[(AccountId, i64)]) -> Result<(), LedgerError> {
        if accounts.is_empty() {
            return Ok(());
        }
        let accounts = accounts.to_vec();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let now = db::now(tx).await?;
                    let rows = accounts
                        .iter()
                        .map(|(account, sequence)| channel::ActiveModel {
                            account: Set(account.to_string()),
                            state: Set(ChannelState::Free.as_str().to_owned()),
                            next_sequence: Set(sequence + 1),
                            leased_by: Set(None),
                            reason: Set(None),
                            last_used_at: Set(now),
                            created_at: Set(now),
                        });
                    channel::Entity::insert_many(rows)
                        .on_conflict(
                            OnConflict::column(channel::Column::Account)
                                .do_nothing()
                                .to_owned(),
                        )
                        .exec_without_returning(tx)
                        .await
                        .map(drop)
                })
            })
            .await
    }

    /// The whole pool, by address.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn channels(&self) -> Result<Vec<Channel>, LedgerError> {
        let rows = channel::Entity::find()
            .order_by_asc(channel::Column::Account)
            .all(self.db.reader())
            .await;
        read(rows.and_then(|rows| rows.into_iter().map(convert::channel).collect()))
    }

    /// How many accounts are free, leased and quarantined.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn pool(&self) -> Result<PoolCounts, LedgerError> {
        let mut counts = PoolCounts::default();
        for channel in self.channels().await? {
            match channel.state {
                ChannelState::Free => counts.free += 1,
                ChannelState::Leased => counts.leased += 1,
                ChannelState::Quarantined => counts.quarantined += 1,
            }
        }
        Ok(counts)
    }

    /// Sets a free account aside. Says whether it was free.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn quarantine(&self, account: AccountId, reason: &str) -> Result<bool, LedgerError> {
        let values = channel::ActiveModel {
            state: Set(ChannelState::Quarantined.as_str().to_owned()),
            reason: Set(Some(reason.to_owned())),
            ..Default::default()
        };
        self.move_unleased(account, ChannelState::Free, values)
            .await
    }

    /// Returns a quarantined account to the pool with its sequence number on the chain. Says whether it was quarantined.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn release_verified(
        &self,
        account: AccountId,
        sequence: i64,
        reason: &str,
    ) -> Result<bool, LedgerError> {
        let values = channel::ActiveModel {
            state: Set(ChannelState::Free.as_str().to_owned()),
            next_sequence: Set(sequence + 1),
            reason: Set(Some(reason.to_owned())),
            ..Default::default()
        };
        self.move_unleased(account, ChannelState::Quarantined, values)
            .await
    }

    async fn move_unleased(
        &self,
        account: AccountId,
        from: ChannelState,
        values: channel::ActiveModel,
    ) -> Result<bool, LedgerError> {
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let moved = channel::Entity::update_many()
                        .set(values)
                        .filter(channel::Column::Account.eq(account.to_string()))
                        .filter(channel::Column::State.eq(from.as_str()))
                        .exec(tx)
                        .await?;
                    Ok(moved.rows_affected == 1)
                })
            })
            .await
    }
}
