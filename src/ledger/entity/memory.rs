//! `ledger_memory`

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "ledger_memory")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i16,
    pub ledger_id: String,
    pub witness: Option<String>,
    pub epoch: i64,
    pub state: String,
    pub reason: Option<String>,
    pub since: Option<i64>,
    pub resume_after: Option<i64>,
    pub read_from: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
