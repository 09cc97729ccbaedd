//! What alert rules look at: how long due rows have waited, and what has come to a stop.

use std::time::Duration;

use sea_orm::{ConnectionTrait, FromQueryResult, Statement};

use super::types::{LedgerError, Millis};
use super::{Ledger, clock, row};
use crate::domain::memory::LONGEST_WINDOW_MS;
use crate::domain::schedule::Priority;

/// Beyond the life of any envelope, and a minute for nodes that lag: whatever has not moved since then is stuck.
const STUCK_AFTER_MS: u64 = LONGEST_WINDOW_MS + 60_000;

/// What waits, and for how long, by the database's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// How long ago the oldest row of each priority came due that nobody has claimed. Without an entry none is due.
    pub oldest_due: Vec<(Priority, Duration)>,
    /// Rows with the network that have not moved for longer than any envelope lives.
    pub stuck: u64,
}

impl Ledger {
    /// What waits now. Reads pending rows and those that hold a pair, however many have ended.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn backlog(&self) -> Result<Backlog, LedgerError> {
        #[derive(FromQueryResult)]
        struct Oldest {
            priority: i16,
            due: Millis,
            now: Millis,
        }
        #[derive(FromQueryResult)]
        struct Stuck {
            number: i64,
        }
        let db = self.store.reader();
        let backend = db.get_database_backend();
        let now = clock::sql(backend);
        // Two parts, for each has an index.
        let oldest = format!(
            "SELECT priority, min(next_attempt_at) AS due, {now} AS now FROM ( \
             SELECT priority, next_attempt_at FROM submission_ledger \
             WHERE status = 'pending' AND dispatched_at IS NULL AND next_attempt_at <= {now} \
             UNION ALL \
             SELECT priority, next_attempt_at FROM submission_ledger \
             WHERE status = 'pending' AND dispatched_at IS NOT NULL) AS waiting \
             GROUP BY priority ORDER BY priority"
        );
        let stuck = format!(
            "SELECT count(*) AS number FROM submission_ledger \
             WHERE pair_held AND status IN ('submitted', 'confirming') AND updated_at <= {now} - {STUCK_AFTER_MS}"
        );
        let oldest = Oldest::find_by_statement(Statement::from_string(backend, oldest));
        let stuck = Stuck::find_by_statement(Statement::from_string(backend, stuck));
        let mut backlog = Backlog::default();
        for Oldest { priority, due, now } in oldest.all(db).await? {
            let waited = u64::try_from(now.saturating_sub(due)).unwrap_or(0);
            let priority = row::priority(priority)?;
            backlog
                .oldest_due
                .push((priority, Duration::from_millis(waited)));
        }
        if let Some(Stuck { number }) = stuck.one(db).await? {
            backlog.stuck = number.cast_unsigned();
        }
        Ok(backlog)
    }
}
