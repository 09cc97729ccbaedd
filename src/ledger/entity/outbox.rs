//! `outbox`

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "outbox")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant: String,
    pub idempotency_key: Option<String>,
    pub payload: String,
    pub created_at: i64,
    pub state: String,
    pub submission_id: Option<Uuid>,
    pub refused_code: Option<String>,
    pub refused_detail: Option<String>,
    pub settled_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
