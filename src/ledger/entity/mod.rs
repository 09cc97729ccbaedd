//! The tables, one file each. Columns are explained by the migrations that make them.

pub(super) mod api_key;
pub(super) mod attempt;
pub(super) mod channel;
pub(super) mod log;
pub(super) mod memory;
pub(super) mod outbox;
pub(super) mod progress;
pub(super) mod recovered;
pub(super) mod submission;
