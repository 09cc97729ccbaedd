//! `channel_accounts`

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "channel_accounts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub account: String,
    pub state: String,
    pub next_sequence: i64,
    pub leased_by: Option<Uuid>,
    pub reason: Option<String>,
    pub last_used_at: i64,
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
