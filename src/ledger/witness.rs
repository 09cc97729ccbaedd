//! What tells one database from another that holds the same rows: whoever restores a backup, promotes a replica or copies
//! a file ends up with another witness, or with an older one.

use std::os::unix::fs::MetadataExt as _;
use std::time::UNIX_EPOCH;

use sea_orm::sea_query::Expr;
use sea_orm::{ConnectionTrait, DbBackend};

use super::types::LedgerError;

/// The cluster, its timeline as it writes now (a checkpoint's lags behind a promotion), the database and the table: a
/// logical restore makes new ones. A standby has no place to write, and fails here.
const POSTGRES: &str = "(SELECT system_identifier::text FROM pg_control_system()) \
     || '/' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) \
     || '/' || (SELECT oid::text FROM pg_database WHERE datname = current_database()) \
     || '/' || 'submission_ledger'::regclass::oid::text";

/// The path of the file; what is there now is asked of the file system.
const SQLITE: &str = "(SELECT file FROM pragma_database_list WHERE name = 'main')";

/// What the witness is told from, as an expression of a query.
pub(super) fn expression(db: &impl ConnectionTrait) -> Expr {
    Expr::cust(if db.get_database_backend() == DbBackend::Sqlite {
        SQLITE
    } else {
        POSTGRES
    })
}

/// The witness, of what the expression came to.
pub(super) fn of(db: &impl ConnectionTrait, told: String) -> Result<String, LedgerError> {
    if db.get_database_backend() != DbBackend::Sqlite {
        return Ok(told);
    }
    // A process that has the old file open goes on writing into nothing when another one takes its place.
    let file = std::fs::metadata(&told)
        .map_err(|error| LedgerError::Unavailable(format!("the ledger's file: {error}")))?;
    // A number may be used again for another file, and that of the device changes with how it is mounted. Where the file
    // system does not tell when a file was made, its number has to do.
    let made = file.created().ok();
    let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let made = made.map_or(0, |made| made.as_nanos());
    Ok(format!("{}:{made}", file.ino()))
}
