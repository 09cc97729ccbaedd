//! API keys, kept as hashes of their secrets.

use futures::FutureExt;
use sea_orm::sea_query::{Expr, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, Order, QueryFilter, QueryOrder};

use super::entity::api_key::{Column, Entity, Model};
use super::types::{LedgerError, Millis};
use super::{Ledger, clock, row};
use crate::domain::key::Tenant;

/// A key to be kept.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Public part of the key.
    pub id: String,
    /// Whose it is.
    pub tenant: Tenant,
    /// SHA-256 of its secret.
    pub secret_hash: [u8; 32],
    /// What it allows. No scope holds a blank.
    pub scopes: Vec<String>,
    /// What staff call it.
    pub name: String,
}

/// A key as it is kept.
#[derive(Clone, Debug)]
pub struct ApiKey {
    /// Public part of the key.
    pub id: String,
    /// Whose it is.
    pub tenant: Tenant,
    /// SHA-256 of its secret.
    pub secret_hash: [u8; 32],
    /// What it allows.
    pub scopes: Vec<String>,
    /// What staff call it.
    pub name: String,
    /// When it was made.
    pub created_at: Millis,
    /// When it was revoked.
    pub revoked_at: Option<Millis>,
}

impl TryFrom<Model> for ApiKey {
    type Error = LedgerError;

    fn try_from(row: Model) -> Result<Self, LedgerError> {
        Ok(Self {
            tenant: row::parsed("tenant", &row.tenant)?,
            secret_hash: row::bytes32("secret_hash", &row.secret_hash)?,
            scopes: row
                .scopes
                .split_ascii_whitespace()
                .map(str::to_owned)
                .collect(),
            id: row.id,
            name: row.name,
            created_at: row.created_at,
            revoked_at: row.revoked_at,
        })
    }
}

impl Ledger {
    /// Keeps a key.
    ///
    /// # Errors
    /// [`LedgerError`]; [`LedgerError::Corrupt`] if there is a key of that id.
    pub async fn add_key(&self, key: NewKey) -> Result<(), LedgerError> {
        self.store
            .write(move |tx| {
                async move {
                    let mut insert = Query::insert();
                    insert
                        .into_table(Entity)
                        .columns([
                            Column::Id,
                            Column::Tenant,
                            Column::SecretHash,
                            Column::Scopes,
                            Column::Name,
                            Column::CreatedAt,
                        ])
                        .values([
                            Expr::val(key.id),
                            Expr::val(key.tenant.as_str()),
                            Expr::val(hex::encode(key.secret_hash)),
                            Expr::val(key.scopes.join(" ")),
                            Expr::val(key.name),
                            clock::now(tx),
                        ])
                        .map_err(|fault| LedgerError::Corrupt(fault.to_string()))?;
                    step!("keys.insert", tx.execute(&insert).await)?;
                    Ok(())
                }
                .boxed()
            })
            .await
    }

    /// A key by id, revoked or not.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn find_key(&self, id: &str) -> Result<Option<ApiKey>, LedgerError> {
        let found = Entity::find_by_id(id).one(self.store.reader()).await?;
        found.map(ApiKey::try_from).transpose()
    }

    /// All keys, oldest first.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn list_keys(&self) -> Result<Vec<ApiKey>, LedgerError> {
        Entity::find()
            .order_by(Column::CreatedAt, Order::Asc)
            .order_by(Column::Id, Order::Asc)
            .all(self.store.reader())
            .await?
            .into_iter()
            .map(ApiKey::try_from)
            .collect()
    }

    /// Revokes a key for good. False if there is no such key or it was revoked before.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn revoke_key(&self, id: &str) -> Result<bool, LedgerError> {
        let id = id.to_owned();
        self.store
            .write(move |tx| {
                async move {
                    let revoke = Entity::update_many()
                        .filter(Column::Id.eq(id))
                        .filter(Column::RevokedAt.is_null())
                        .col_expr(Column::RevokedAt, clock::now(tx));
                    let done = step!("keys.mark", revoke.exec(tx).await)?;
                    Ok(done.rows_affected == 1)
                }
                .boxed()
            })
            .await
    }
}
