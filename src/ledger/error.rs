//! What the database's complaints mean for the caller.

use sea_orm::sqlx;
use sea_orm::{DbErr, RuntimeErr};

use super::types::LedgerError;

impl From<DbErr> for LedgerError {
    /// The meaning of an error of any statement but `COMMIT`: nothing was written.
    fn from(error: DbErr) -> Self {
        let text = error.to_string();
        match &error {
            DbErr::Conn(RuntimeErr::SqlxError(cause))
            | DbErr::Exec(RuntimeErr::SqlxError(cause))
            | DbErr::Query(RuntimeErr::SqlxError(cause)) => of_driver(cause, text),
            DbErr::TryIntoErr { .. } | DbErr::Type(_) | DbErr::Json(_) => Self::Corrupt(text),
            DbErr::Migration(_) | DbErr::Custom(_) => Self::Unfit(text),
            _ => Self::Unavailable(text),
        }
    }
}

/// Whether a statement found that its connection had ended before it, as all do when a server restarts. A statement
/// that writes nothing may then be asked again.
pub(super) fn connection_was_dead(error: &DbErr) -> bool {
    let (DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause))) =
        error
    else {
        return false;
    };
    match &**cause {
        sqlx::Error::Io(_) => true,
        // The server said good-bye before it went.
        sqlx::Error::Database(complaint) => {
            complaint.code().is_some_and(|code| code.starts_with("57P"))
        }
        _ => false,
    }
}

fn of_driver(cause: &sqlx::Error, text: String) -> LedgerError {
    match cause {
        sqlx::Error::Database(complaint) => match complaint.code() {
            Some(code) => of_code(&code, text),
            None => LedgerError::Unavailable(text),
        },
        sqlx::Error::Configuration(_) => LedgerError::Unfit(text),
        sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::ColumnIndexOutOfBounds { .. }
        | sqlx::Error::TypeNotFound { .. }
        | sqlx::Error::Decode(_)
        | sqlx::Error::Encode(_) => LedgerError::Corrupt(text),
        _ => LedgerError::Unavailable(text),
    }
}

/// `PostgreSQL` names errors by five characters, the first two being their class; `SQLite` by numbers, the low byte
/// being their kind.
fn of_code(code: &str, text: String) -> LedgerError {
    if code.len() == 5 {
        return match &code[..2] {
            // Bad data, or a constraint was violated.
            "22" | "23" => LedgerError::Corrupt(text),
            // Not let in, no such database, or another schema than ours.
            "28" | "3D" | "42" => LedgerError::Unfit(text),
            _ => LedgerError::Unavailable(text),
        };
    }
    match code.parse::<i32>().map(|number| number & 0xff) {
        // SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH
        Ok(18..=20) => LedgerError::Corrupt(text),
        // SQLITE_ERROR (no such table), SQLITE_READONLY, SQLITE_CORRUPT, SQLITE_CANTOPEN, SQLITE_NOTADB
        Ok(1 | 8 | 11 | 14 | 26) => LedgerError::Unfit(text),
        Ok(_) | Err(_) => LedgerError::Unavailable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_databases_are_told_apart() {
        let kind = |code: &str| match of_code(code, String::new()) {
            LedgerError::Unavailable(_) => "unavailable",
            LedgerError::CommitUnknown(_) => "unknown",
            LedgerError::Unfit(_) => "unfit",
            LedgerError::MemoryLost(_) => "lost",
            LedgerError::Corrupt(_) => "corrupt",
        };
        let table = [
            ("23505", "corrupt"),
            ("22021", "corrupt"),
            ("42P01", "unfit"),
            ("28P01", "unfit"),
            ("40P01", "unavailable"),
            ("57P01", "unavailable"),
            ("25006", "unavailable"),
            ("2067", "corrupt"),
            ("1", "unfit"),
            ("5", "unavailable"),
            ("517", "unavailable"),
            ("13", "unavailable"),
            ("", "unavailable"),
        ];
        for (code, expected) in table {
            assert_eq!(kind(code), expected, "{code}");
        }
    }
}
