//! The submission ledger: the record of every intent and every envelope, in SQL. The only module that names sea-orm.
//!
//! Reading order: [`types`] for what is stored, `transition` for the one way a row changes, `claim` for leases and
//! recording, `accept` for the entrance, `feed` and `leases` for those who plan from it.
//!
//! Architecture invariant: no function here chooses a status. Callers report an event and the domain decides.

mod accept;
mod channels;
mod claim;
mod convert;
mod db;
mod entity;
mod feed;
mod keys;
mod leases;
mod read;
mod schema;
mod transition;
mod types;

pub use keys::{ApiKey, NewKey};
pub use read::{BadCursor, Cursor, ListFilter};
pub use schema::MigrationStatus;
pub use types::{
    Accepted, Applied, Attempt, Change, Channel, ChannelState, Claim, ClaimOutcome, Dispatch,
    Envelope, Lease, LedgerError, LogEntry, Millis, NewSubmission, PoolCounts, Rules, SendPlan,
    SendState, Submission,
};

use accept::Entrance;
use db::Db;

/// The ledger of one database. Clones share its connections.
#[derive(Clone)]
pub struct Ledger {
    db: Db,
    entrance: Entrance,
    rules: Rules,
}

impl Ledger {
    /// Connects to a `postgres:` or `sqlite:` database.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`] when it cannot be reached, [`LedgerError::Unfit`] when its settings could lose a
    /// commit.
    pub async fn connect(
        url: &str,
        max_connections: u32,
        rules: Rules,
    ) -> Result<Self, LedgerError> {
        let db = Db::connect(url, max_connections).await?;
        let entrance = Entrance::open(db.clone());
        Ok(Self {
            db,
            entrance,
            rules,
        })
    }
}
