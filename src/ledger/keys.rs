//! API keys: who may ask for what. Only hashes of secrets are kept.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, EntityTrait as _, QueryFilter as _, QueryOrder as _,
    Set,
};

use super::entity::api_key;
use super::read::read;
use super::types::{LedgerError, Millis};
use super::{Ledger, convert, db};
use crate::domain::key::Tenant;

/// An API key to be added.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Public part of the key.
    pub id: String,
    /// Whose it is.
    pub tenant: Tenant,
    /// What people call it.
    pub name: String,
    /// Hash of the secret part.
    pub secret_hash: [u8; 32],
    /// What it may do.
    pub scopes: Vec<String>,
}

/// An API key as the ledger knows it.
#[derive(Clone, Debug)]
pub struct ApiKey {
    /// Public part of the key.
    pub id: String,
    /// Whose it is.
    pub tenant: Tenant,
    /// What people call it.
    pub name: String,
    /// Hash of the secret part.
    pub secret_hash: [u8; 32],
    /// What it may do.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_at: Millis,
    /// When it was revoked.
    pub revoked_at: Option<Millis>,
}

impl Ledger {
    /// Adds an API key.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn add_key(&self, key: NewKey) -> Result<(), LedgerError> {
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let row = api_key::ActiveModel {
                        id: Set(key.id),
                        tenant: Set(key.tenant.as_str().to_owned()),
                        name: Set(key.name),
                        secret_hash: Set(hex::encode(key.secret_hash)),
                        scopes: Set(key.scopes.join(" ")),
                        created_at: Set(db::now(tx).await?),
                        revoked_at: Set(None),
                    };
                    row.insert(tx).await.map(drop)
                })
            })
            .await
    }

    /// The API key of that id, revoked or not.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn find_key(&self, id: &str) -> Result<Option<ApiKey>, LedgerError> {
        let row = api_key::Entity::find_by_id(id).one(self.db.reader()).await;
        read(row.and_then(|row| row.map(key).transpose()))
    }

    /// All API keys, oldest first.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn list_keys(&self) -> Result<Vec<ApiKey>, LedgerError> {
        let rows = api_key::Entity::find()
            .order_by_asc(api_key::Column::CreatedAt)
            .all(self.db.reader())
            .await;
        read(rows.and_then(|rows| rows.into_iter().map(key).collect()))
    }

    /// Revokes an API key. Says whether it was valid until now.
    ///
    /// # Errors
    /// The database did not answer.
    pub async fn revoke_key(&self, id: &str) -> Result<bool, LedgerError> {
        let id = id.to_owned();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let now = db::now(tx).await?;
                    let revoked = api_key::Entity::update_many()
                        .set(api_key::ActiveModel {
                            revoked_at: Set(Some(now)),
                            ..Default::default()
                        })
                        .filter(api_key::Column::Id.eq(id))
                        .filter(api_key::Column::RevokedAt.is_null())
                        .exec(tx)
                        .await?;
                    Ok(revoked.rows_affected == 1)
                })
            })
            .await
    }
}

fn key(row: api_key::Model) -> Result<ApiKey, sea_orm::DbErr> {
    let mut secret_hash = [0; 32];
    hex::decode_to_slice(&row.secret_hash, &mut secret_hash).map_err(convert::corrupt)?;
    Ok(ApiKey {
        tenant: row.tenant.parse().map_err(convert::corrupt)?,
        scopes: row.scopes.split_whitespace().map(str::to_owned).collect(),
        secret_hash,
        id: row.id,
        name: row.name,
        created_at: row.created_at,
        revoked_at: row.revoked_at,
    })
}
