//! `submission_ledger`

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "submission_ledger")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub tenant: String,
    pub idempotency_key: String,
    pub key_tag: i64,
    pub logical_operation: String,
    pub priority: i16,
    pub business_ref: Option<String>,
    pub payload: String,
    pub fingerprint: String,
    pub status: String,
    pub verdict: String,
    pub category: Option<String>,
    pub source_account: Option<String>,
    pub sequence: Option<i64>,
    pub pair_held: bool,
    pub transient_failures: i32,
    pub claims: i32,
    pub generation: i32,
    pub version: i64,
    pub fence: Option<Uuid>,
    pub claim_until: Option<i64>,
    pub tx_hash: Option<String>,
    pub last_error: Option<String>,
    pub send_state: String,
    pub send_at: Option<i64>,
    pub send_required: Option<i64>,
    pub send_operations: Option<i64>,
    pub stop_class: Option<String>,
    pub stop_code: Option<String>,
    pub attempt_count: i64,
    pub evidence: Option<String>,
    pub next_attempt_at: i64,
    pub dispatch_round: i64,
    pub dispatched_at: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
