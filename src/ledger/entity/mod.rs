//! Rows as the database holds them. Nothing outside the ledger sees them.

pub(super) mod api_key;
pub(super) mod attempt;
pub(super) mod channel;
pub(super) mod log;
pub(super) mod submission;
