//! `recovered_transactions`

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "recovered_transactions")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub account: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub sequence: i64,
    pub kind: String,
    pub key_tag: Option<i64>,
    pub hash: Option<String>,
    pub ledger: Option<i64>,
    pub operation: Option<String>,
    pub evidence: String,
    pub found_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
