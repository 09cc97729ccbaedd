//! `submission_log`

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "submission_log")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub submission_id: Uuid,
    pub version: i64,
    pub event: String,
    pub from_status: String,
    pub to_status: String,
    pub actor: String,
    pub detail: Option<String>,
    pub at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
