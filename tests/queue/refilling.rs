//! The feed notices that the queue lost its jobs, and pushes them again in its next round.

use std::time::Duration;

use serde_json::json;
use tender::{
    app::staff_rules,
    domain::{
        ids::{AccountId, SubmissionId},
        key::Fingerprint,
        operation::OperationKind,
        schedule::Priority::{self, Normal},
    },
    flow::feed::{Feed, FeedSettings},
    ledger::{Accepted, Ledger, NewSubmission},
    queue::Queue,
};

use crate::{on, support::redis::Redis};

const ROWS: u8 = 20;
/// Nothing comes again merely because time went by.
const HOUR: Duration = Duration::from_secs(3600);

struct Bed {
    ledger: Ledger,
    queue: Queue,
    feed: Feed,
    _directory: tempfile::TempDir,
}

impl Bed {
    /// Due rows, and channels for all of them and one more.
    async fn new(server: &Redis) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("ledger").display());
        let ledger = Ledger::connect(&url, 2, staff_rules()).await.unwrap();
        ledger.migrate_up().await.unwrap();
        let channels: Vec<_> = (0..=ROWS).map(|n| (AccountId([n; 32]), 100)).collect();
        ledger.add_channels(&channels).await.unwrap();
        let queue = on(server).await;
        let feed = feed(&ledger, &queue);
        let bed = Self {
            ledger,
            queue,
            feed,
            _directory: directory,
        };
        for n in 0..ROWS {
            bed.accept(n).await;
        }
        bed
    }

    async fn accept(&self, number: u8) -> SubmissionId {
        let payload = json!({ "number": number });
        let new = NewSubmission {
            tenant: "acme".parse().unwrap(),
            key: format!("key-{number}").parse().unwrap(),
            kind: OperationKind::Payment,
            priority: Priority::Normal,
            business_ref: None,
            fingerprint: Fingerprint::of(payload.to_string().as_bytes()),
            payload,
        };
        match self.ledger.accept(new).await.unwrap() {
            Accepted::New(row) | Accepted::Existing(row) => row.id,
        }
    }

    async fn depth(&self) -> u64 {
        self.queue.depth(Normal).await.unwrap()
    }
}

fn feed(ledger: &Ledger, queue: &Queue) -> Feed {
    let settings = FeedSettings {
        window: 500,
        redispatch_after: HOUR,
        period: HOUR,
    };
    Feed::new(ledger.clone(), queue.clone(), settings)
}

#[tokio::test]
async fn a_flushed_queue_is_full_again_after_one_round() {
    let server = Redis::start();
    let bed = Bed::new(&server).await;
    let rows = usize::from(ROWS);
    assert_eq!(bed.feed.run_once().await.unwrap(), rows);
    assert_eq!(bed.feed.run_once().await.unwrap(), 0);
    for _ in 0..2 {
        server.flushall();
        assert_eq!(bed.feed.run_once().await.unwrap(), rows);
        assert_eq!(bed.feed.run_once().await.unwrap(), 0);
        assert_eq!(bed.depth().await, u64::from(ROWS));
    }
}

#[tokio::test]
async fn feeds_of_several_processes_refill_it_once() {
    let server = Redis::start();
    let bed = Bed::new(&server).await;
    let another = feed(&bed.ledger, &bed.queue);
    let rows = usize::from(ROWS);
    assert_eq!(bed.feed.run_once().await.unwrap(), rows);
    assert_eq!(another.run_once().await.unwrap(), 0);
    server.flushall();
    assert_eq!(another.run_once().await.unwrap(), rows);
    assert_eq!(bed.feed.run_once().await.unwrap(), 0);
}

#[tokio::test]
async fn a_server_that_died_and_came_back_empty_is_filled_again() {
    let mut server = Redis::start();
    let bed = Bed::new(&server).await;
    let rows = usize::from(ROWS);
    assert_eq!(bed.feed.run_once().await.unwrap(), rows);
    server.kill9();
    let late = bed.accept(ROWS).await;
    assert!(bed.feed.run_once().await.is_err());
    let late = bed.ledger.submission(late).await.unwrap().unwrap();
    assert_eq!(late.round, 0, "not marked for a queue that is away");
    server.start_again();
    assert_eq!(until_it_answers(&bed.feed).await, rows + 1);
}

#[tokio::test]
async fn a_server_that_came_back_with_an_old_snapshot_is_filled_again() {
    let mut server = Redis::start();
    let bed = Bed::new(&server).await;
    let rows = usize::from(ROWS);
    assert_eq!(bed.feed.run_once().await.unwrap(), rows);
    let all = server.key_count();
    // What it saves lacks the jobs and has everything else.
    server.ask::<u64>(redis::cmd("DEL").arg("tender:normal:jobs"));
    server.ask::<u64>(redis::cmd("DEL").arg("tender:normal:waiting"));
    server.ask::<()>(&redis::cmd("SAVE"));
    assert_eq!(server.key_count(), all - 2);
    server.kill9();
    server.start_again();
    assert_eq!(server.keys("*"), ["tender:mark"], "the snapshot was read");
    assert_eq!(until_it_answers(&bed.feed).await, rows);
    assert_eq!(server.key_count(), all);
}

/// The first rounds may still find the old connection broken.
async fn until_it_answers(feed: &Feed) -> usize {
    loop {
        if let Ok(taken) = feed.run_once().await {
            return taken;
        }
        tokio::task::yield_now().await;
    }
}
