//! How long a request waits for the ledger. A caller that hears nothing retries blindly; one that hears what is known
//! retries rightly.

use std::future::Future;
use std::time::Duration;

use crate::ledger::LedgerError;

/// Longest wait for the ledger.
const PATIENCE: Duration = Duration::from_secs(15);

/// Waits for a read.
///
/// # Errors
/// Its own; [`LedgerError::Unavailable`] when it takes too long.
pub async fn reading<T>(
    read: impl Future<Output = Result<T, LedgerError>>,
) -> Result<T, LedgerError> {
    let late = || LedgerError::Unavailable("no answer in time".to_owned());
    tokio::time::timeout(PATIENCE, read)
        .await
        .unwrap_or_else(|_| Err(late()))
}

/// Waits for a write.
///
/// # Errors
/// Its own; [`LedgerError::CommitUnknown`] when it takes too long, since it may be written all the same.
pub async fn writing<T>(
    write: impl Future<Output = Result<T, LedgerError>>,
) -> Result<T, LedgerError> {
    let late = || LedgerError::CommitUnknown("no answer in time".to_owned());
    tokio::time::timeout(PATIENCE, write)
        .await
        .unwrap_or_else(|_| Err(late()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test(start_paused = true)]
    async fn patience_ends_and_says_what_is_known() {
        assert!(matches!(
            reading(pending::<Result<(), _>>()).await,
            Err(LedgerError::Unavailable(_))
        ));
        assert!(matches!(
            writing(pending::<Result<(), _>>()).await,
            Err(LedgerError::CommitUnknown(_))
        ));
        assert!(matches!(writing(async { Ok(7) }).await, Ok(7)));
    }
}
