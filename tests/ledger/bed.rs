//! A ledger on a database of its own, and the words the cases are written in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sea_orm::{ConnectionTrait, Database, DatabaseConnection, Statement};
use serde_json::json;
use tender::domain::classify::{Cause, Class};
use tender::domain::ids::{AccountId, Pair, SubmissionId, TxHash};
use tender::domain::key::Fingerprint;
use tender::domain::operation::OperationKind;
use tender::domain::plan::AccountState;
use tender::domain::schedule::Priority;
use tender::domain::submission::{Budget, Event};
use tender::ledger::{
    Accepted, Applied, Change, Channel, Claim, ClaimOutcome, Envelope, Ledger, NewSubmission,
    Rules, Submission,
};

use crate::support::postgres::Postgres;

/// The sequence every channel account has on the chain when it is added.
pub const ON_CHAIN: i64 = 100;
/// The rules of a bed.
pub const RULES: Rules = Rules {
    budget: Budget {
        transient_failures: 2,
        claims: 3,
    },
    backoff: |failures, base, _| base * failures,
    backoff_base: Duration::from_secs(60),
    backoff_max: Duration::from_secs(600),
    claim_ttl: Duration::from_secs(30),
    resend_after: Duration::from_secs(5),
    max_in_flight: None,
};

/// An account at that sequence.
pub fn at(sequence: i64) -> AccountState {
    AccountState::Present {
        sequence,
        since_ledger: None,
    }
}

/// What keeps the database.
enum Keep {
    File { _directory: tempfile::TempDir },
    Server { _server: Arc<Postgres> },
}

/// A ledger on a database of its own.
pub struct Bed {
    pub ledger: Ledger,
    pub url: String,
    _keep: Keep,
}

impl Bed {
    pub async fn sqlite() -> Self {
        let bed = Self::bare_sqlite().await;
        bed.ledger.migrate_up().await.unwrap();
        bed
    }

    pub async fn postgres() -> Self {
        let bed = Self::bare_postgres().await;
        bed.ledger.migrate_up().await.unwrap();
        bed
    }

    pub async fn bare_sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!(
            "sqlite:{}",
            directory.path().join("ledger.sqlite").display()
        );
        Self::open(
            url,
            Keep::File {
                _directory: directory,
            },
        )
        .await
    }

    pub async fn bare_postgres() -> Self {
        let (server, url) = tokio::task::spawn_blocking(|| {
            let server = Postgres::shared();
            let url = server.create_database();
            (server, url)
        })
        .await
        .unwrap();
        Self::open(url, Keep::Server { _server: server }).await
    }

    async fn open(url: String, keep: Keep) -> Self {
        let ledger = Ledger::connect(&url, 16, RULES).await.unwrap();
        Self {
            ledger,
            url,
            _keep: keep,
        }
    }

    /// Another process's ledger on the same database.
    pub async fn another(&self, rules: Rules) -> Ledger {
        Ledger::connect(&self.url, 16, rules).await.unwrap()
    }

    pub fn is_postgres(&self) -> bool {
        self.url.starts_with("postgres")
    }

    /// A connection past the ledger.
    pub async fn raw(&self) -> DatabaseConnection {
        Database::connect(&self.url).await.unwrap()
    }

    /// Runs a statement past the ledger.
    pub async fn sql(&self, sql: &str) {
        let raw = self.raw().await;
        raw.execute_unprepared(sql).await.unwrap();
        raw.close().await.unwrap();
    }

    /// Runs a statement past the ledger and tells what the database objects to.
    pub async fn objection(&self, sql: &str) -> Option<String> {
        let raw = self.raw().await;
        let answer = raw.execute_unprepared(sql).await;
        raw.close().await.unwrap();
        answer.err().map(|error| error.to_string())
    }

    /// A number past the ledger.
    pub async fn number(&self, sql: &str) -> i64 {
        let raw = self.raw().await;
        let statement = Statement::from_string(raw.get_database_backend(), sql);
        let row = raw.query_one_raw(statement).await.unwrap().unwrap();
        raw.close().await.unwrap();
        row.try_get_by_index(0).unwrap()
    }

    /// Adds `count` channel accounts with the sequence [`ON_CHAIN`].
    pub async fn channels(&self, count: u8) -> Vec<AccountId> {
        let accounts: Vec<_> = (1..=count).map(|n| AccountId([n; 32])).collect();
        let with_sequence: Vec<_> = accounts
            .iter()
            .map(|account| (*account, ON_CHAIN))
            .collect();
        self.ledger.add_channels(&with_sequence).await.unwrap();
        accounts
    }

    pub async fn accept(&self, key: &str) -> Submission {
        accepted(self.ledger.accept(new(key)).await.unwrap())
    }

    pub async fn row(&self, id: SubmissionId) -> Submission {
        self.ledger.submission(id).await.unwrap().unwrap()
    }

    pub async fn claim(&self, id: SubmissionId) -> Claim {
        match self.ledger.claim(id).await.unwrap() {
            ClaimOutcome::Claimed(claim) => *claim,
            other => panic!("not claimed: {other:?}"),
        }
    }

    pub async fn record(&self, claim: &Claim) -> Submission {
        done(
            self.ledger
                .record(claim, envelope(claim.pair), 7)
                .await
                .unwrap(),
        )
    }

    /// Accepted, claimed, recorded and acknowledged.
    pub async fn confirming(&self, key: &str) -> Submission {
        let row = self.accept(key).await;
        let claim = self.claim(row.id).await;
        let row = self.record(&claim).await;
        self.apply(&row, Event::Acknowledged).await
    }

    pub async fn apply(&self, row: &Submission, event: Event) -> Submission {
        done(
            self.ledger
                .apply(Change::new(row, event, "test"))
                .await
                .unwrap(),
        )
    }

    pub async fn channel(&self, account: AccountId) -> Channel {
        let channels = self.ledger.channels().await.unwrap();
        channels
            .into_iter()
            .find(|channel| channel.account == account)
            .unwrap()
    }
}

/// A payment under that key.
pub fn new(key: &str) -> NewSubmission {
    let payload = json!({"operation": {"type": "payment", "amount": "1.0000000"}, "key": key});
    NewSubmission {
        tenant: "acme".parse().unwrap(),
        key: key.parse().unwrap(),
        kind: OperationKind::Payment,
        priority: Priority::Normal,
        business_ref: None,
        fingerprint: Fingerprint::of(payload.to_string().as_bytes()),
        payload,
    }
}

/// An envelope of that pair, with a hash of its own.
pub fn envelope(pair: Pair) -> Envelope {
    static SERIAL: AtomicU64 = AtomicU64::new(1);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&serial.to_be_bytes());
    Envelope {
        pair,
        hash: TxHash(hash),
        inner_hash: None,
        xdr: "AAAA".to_owned(),
        fee: 100,
        operations: 1,
        max_time: 1_800_000_000,
    }
}

pub fn accepted(accepted: Accepted) -> Submission {
    match accepted {
        Accepted::New(row) => row,
        Accepted::Existing(row) => panic!("{} was accepted before", row.id),
    }
}

pub fn done(applied: Applied) -> Submission {
    match applied {
        Applied::Done(row) => *row,
        other => panic!("not done: {other:?}"),
    }
}

pub fn transient() -> Cause {
    Cause {
        class: Class::Transient,
        code: "txTOO_LATE".to_owned(),
    }
}

pub fn terminal() -> Cause {
    Cause {
        class: Class::Terminal,
        code: "txFAILED/PAYMENT_NO_TRUST".to_owned(),
    }
}
