//! The submission ledger: the truth, in `PostgreSQL` or `SQLite`. The only module that names sea-orm.
//!
//! Reading order: [`types`]; `memory`, which lets changes through while nothing was forgotten; `transition`, the one way
//! by which a row changes its state, with `recording` and `release`; the verbs in `accept`, `feed`, `claim`, `serialized`, `leases`, `lookup`, `read`, `list`, `channels`, `keys`,
//! `progress`, `backlog`, `recovered`, `outbox`; and below them `store`, `reader` and `writer`, which make work durable.
//!
//! Architecture invariants: every change of a status goes through `transition`, which asks the domain. Nothing here
//! talks to the network or to a queue. Times are the database's.

use sea_orm::ConnectionTrait;
use sea_orm::sea_query::{Expr, Query};

mod accept;
mod backlog;
mod channels;
mod claim;
mod clock;
mod connect;
mod entity;
mod error;
mod feed;
mod forgotten;
pub mod keys;
mod leases;
mod list;
mod lookup;
mod memory;
mod migrate;
mod observer;
pub mod outbox;
#[cfg(feature = "planted-bugs")]
pub mod planted;
mod progress;
mod read;
mod reader;
mod recording;
mod recovered;
mod release;
mod row;
mod serialized;
mod store;
mod transition;
pub mod types;
mod witness;
mod writer;

pub use backlog::Backlog;
pub use forgotten::Recovered;
pub use keys::{ApiKey, NewKey};
pub use list::{BadCursor, Cursor, ListFilter};
pub use memory::Memory;
pub use migrate::MigrationStatus;
pub use observer::Observer;
pub use progress::{Pass, Progress};
pub use serialized::Serialized;
pub use types::*;

/// A handle on the ledger. Clones share its connections.
#[derive(Clone)]
pub struct Ledger {
    store: store::Store,
    desk: accept::Desk,
    counter: lookup::Counter,
    rules: Rules,
    observer: Option<Observer>,
    seen: memory::Seen,
}

impl Ledger {
    /// Opens the ledger at a `sqlite:`, `postgres:` or `postgresql:` URL. A `SQLite` file that is not there is made.
    /// Must be called within a tokio runtime, in which the ledger's own tasks live until the last handle is gone.
    ///
    /// # Errors
    /// [`LedgerError::Unfit`] when a commit would not be durable; [`LedgerError::Unavailable`] when nobody answers.
    pub async fn connect(
        url: &str,
        max_connections: u32,
        rules: Rules,
    ) -> Result<Self, LedgerError> {
        let store = connect::open(url, max_connections).await?;
        Ok(Self {
            desk: accept::open(store.clone()),
            counter: lookup::open(store.clone()),
            store,
            rules,
            observer: None,
            seen: memory::Seen::default(),
        })
    }

    /// Asks the database whether it is there and takes writes.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`].
    pub async fn ping(&self) -> Result<(), LedgerError> {
        let store::Store::Postgres(db) = &self.store else {
            return self.now().await.map(drop);
        };
        // A standby answers reads, and so does a server that was told to take no writes.
        let read_only = Expr::cust("current_setting('transaction_read_only')");
        let row = db
            .query_one(&Query::select().expr(read_only).to_owned())
            .await?;
        let read_only: Option<String> = row.map(|row| row.try_get_by_index(0)).transpose()?;
        match read_only.as_deref() {
            Some("off") => Ok(()),
            _ => Err(LedgerError::Unavailable(
                "the database takes no writes".to_owned(),
            )),
        }
    }

    /// The time by the database's clock.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn now(&self) -> Result<Millis, LedgerError> {
        let db = self.store.reader();
        let query = Query::select().expr(clock::now(db)).to_owned();
        let row = db.query_one(&query).await?;
        let row = row.ok_or_else(|| LedgerError::Unavailable("no time".to_owned()))?;
        Ok(row.try_get_by_index(0)?)
    }
}
