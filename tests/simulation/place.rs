//! Where the ledger of a run is: a copy of a file that was migrated once, in memory where there is such a place.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection};
use tempfile::TempDir;
use tender::domain::submission::Budget;
use tender::ledger::{Ledger, Rules};

/// Everything is due at once: the order of steps is the schedule's.
pub fn rules(budget: Budget) -> Rules {
    Rules {
        budget,
        backoff: |_, _, _| Duration::ZERO,
        backoff_base: Duration::ZERO,
        backoff_max: Duration::ZERO,
        claim_ttl: Duration::ZERO,
        resend_after: Duration::ZERO,
        max_in_flight: None,
    }
}

/// A ledger file of its own.
pub struct Place {
    url: String,
    _directory: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let directory = directory();
        let path = directory.path().join("ledger");
        std::fs::copy(template(), &path).unwrap();
        Self {
            url: url(&path),
            _directory: directory,
        }
    }

    pub async fn open(&self, budget: Budget) -> Ledger {
        Ledger::connect(&self.url, 2, rules(budget)).await.unwrap()
    }

    /// Another way in, for whoever looks at the tables as they are.
    pub async fn look(&self) -> DatabaseConnection {
        connect(&self.url).await
    }
}

async fn connect(url: &str) -> DatabaseConnection {
    let mut options = ConnectOptions::new(url);
    options.max_connections(1).sqlx_logging(false);
    Database::connect(options).await.unwrap()
}

fn url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        TempDir::new_in(memory).unwrap()
    } else {
        TempDir::new().unwrap()
    }
}

/// The migrated file that others are copied from.
fn template() -> &'static Path {
    static TEMPLATE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = TEMPLATE.get_or_init(|| {
        let directory = directory();
        let path = directory.path().join("template");
        let url = url(&path);
        // A thread of its own: a runtime cannot wait within another one.
        let migrating = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let budget = Budget {
                    transient_failures: 1,
                    claims: 1,
                };
                let ledger = Ledger::connect(&url, 1, rules(budget)).await.unwrap();
                ledger.migrate_up().await.unwrap();
                let db = connect(&url).await;
                let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
                db.execute_unprepared(checkpoint).await.unwrap();
            });
        });
        migrating.join().unwrap();
        (directory, path)
    });
    path
}
