//! `submission_attempts`

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "submission_attempts")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub submission_id: Uuid,
    pub generation: i32,
    pub source_account: String,
    pub sequence: i64,
    pub hash: String,
    pub inner_hash: Option<String>,
    pub envelope_xdr: String,
    pub fee: i64,
    pub operations: i64,
    pub max_time: i64,
    pub sent_after_ledger: i64,
    pub settled: bool,
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
