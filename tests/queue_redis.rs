//! What the lanes on Redis promise beyond the common suite: outages, lost answers, and nothing left behind.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

mod support;

#[path = "queue/desk.rs"]
mod desk;

#[path = "queue/figures.rs"]
mod figures;

#[path = "queue/refilling.rs"]
mod refilling;

#[path = "queue/outages.rs"]
mod outages;

#[path = "queue/reaching.rs"]
mod reaching;

#[path = "queue/sequences.rs"]
mod sequences;

use desk::{Desk, job, jobs};
use secrecy::SecretString;
use support::redis::Redis;
use tender::{
    domain::schedule::Priority::{Critical, Low, Normal},
    queue::{Pushed, Queue, QueueError, RedisOptions},
};

async fn on(server: &Redis) -> Queue {
    prefixed(server, &RedisOptions::default().prefix).await
}

async fn prefixed(server: &Redis, prefix: &str) -> Queue {
    let options = RedisOptions {
        prefix: prefix.to_owned(),
    };
    Queue::redis(&SecretString::from(server.url()), options)
        .await
        .unwrap()
}

/// What the pushed texts say in one `HSET` or `RPUSH`.
fn put(server: &Redis, command: &str, key: &str, values: &[&str]) {
    server.ask::<u64>(redis::cmd(command).arg(key).arg(values));
}

#[tokio::test]
async fn queues_of_different_prefixes_share_a_server_and_nothing_else() {
    let server = Redis::start();
    let (one, two) = (
        prefixed(&server, "one:").await,
        prefixed(&server, "two:").await,
    );
    let job = [job(1, Low)];
    assert_eq!(one.push(&job).await.unwrap(), [Pushed::New]);
    assert_eq!(two.push(&job).await.unwrap(), [Pushed::New]);
    assert!(
        server
            .keys("*")
            .iter()
            .all(|key| key.starts_with("one:") || key.starts_with("two:"))
    );
    let mut desk = Desk::open(&one, 1);
    desk.started().await;
    assert_eq!(desk.close().await, []);
    assert_eq!(two.depth(Low).await.unwrap(), 1);
}

#[tokio::test]
async fn a_job_whose_taking_was_never_heard_of_runs_when_its_lease_has_lapsed() {
    let server = Redis::start();
    let queue = on(&server).await;
    queue.push(&[job(1, Normal)]).await.unwrap();
    // As after a take whose answer was lost: on lease, and no worker knows.
    let id: String = server.ask(redis::cmd("LPOP").arg("tender:normal:waiting"));
    let (seconds, _): (u64, u64) = server.ask(&redis::cmd("TIME"));
    let lapses = ((seconds + 1) * 1_000).to_string();
    put(&server, "ZADD", "tender:normal:leases", &[&lapses, &id]);
    let mut desk = Desk::open(&queue, 1);
    assert_eq!(desk.started().await, job(1, Normal));
    desk.close().await;
    assert_eq!(server.key_count(), 0);
}

#[tokio::test]
async fn what_is_not_ours_is_dropped_and_harms_no_worker() {
    let server = Redis::start();
    let queue = on(&server).await;
    let ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let fine = job(1, Critical);
    for (id, submission) in [("17", "x"), (ulid, "x"), ("", ""), ("tx:1.x", "y")] {
        put(&server, "RPUSH", "tender:critical:waiting", &[id]);
        put(&server, "HSET", "tender:critical:jobs", &[id, submission]);
    }
    put(
        &server,
        "RPUSH",
        "tender:critical:waiting",
        &["tx:without-data"],
    );
    queue.push(std::slice::from_ref(&fine)).await.unwrap();
    let mut desk = Desk::open(&queue, 2);
    assert_eq!(desk.started().await, fine);
    assert_eq!(desk.close().await, []);
    assert_eq!(server.key_count(), 0);
}

#[tokio::test]
async fn a_password_opens_the_server_and_is_never_shown() {
    let server = Redis::with_password("open-sesame");
    let queue = on(&server).await;
    queue.ping().await.unwrap();
    assert!(!format!("{queue:?}").contains("sesame"));
    let wrong = format!("redis://:sesame-street@127.0.0.1:{}/", server.port());
    let wrong = Queue::redis(&SecretString::from(wrong), RedisOptions::default())
        .await
        .unwrap();
    let refused = wrong.ping().await.unwrap_err();
    assert!(!format!("{refused} {refused:?}").contains("sesame"));
    let bad = SecretString::from("http://user:sesame@host/");
    let bad = Queue::redis(&bad, RedisOptions::default()).await;
    let bad = bad.unwrap_err();
    assert!(matches!(bad, QueueError::BadUrl));
    assert!(!format!("{bad} {bad:?}").contains("sesame"));
}

#[tokio::test]
async fn a_job_taken_but_not_started_goes_back_on_shutdown() {
    let server = Redis::start();
    let queue = on(&server).await;
    queue.push(&jobs(0..1, Normal)).await.unwrap();
    for _ in 0..20 {
        // Shut down around the moment of taking: the job has run, or waits again without a lease.
        let desk = Desk::open(&queue, 1);
        tokio::task::yield_now().await;
        let ran = desk.close().await.len() as u64;
        assert_eq!(queue.depth(Normal).await.unwrap(), 1 - ran);
        assert_eq!(server.keys("*:leases"), Vec::<String>::new());
        if ran == 1 {
            queue.push(&jobs(0..1, Normal)).await.unwrap();
        }
    }
}
