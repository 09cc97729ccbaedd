//! Workers that die or hang: another one takes their jobs within seconds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

mod support;

#[path = "queue/desk.rs"]
mod desk;

use std::time::{Duration, Instant};

use desk::{Desk, PATIENCE, job, jobs};
use secrecy::SecretString;
use support::{child, child::Child, redis::Redis};
use tender::{
    domain::schedule::Priority::Normal,
    queue::{Job, Pushed, Queue, RedisOptions},
};
use tokio_util::sync::CancellationToken;

/// An argument that makes [`helper_worker`] do something. The test runner takes it, and the URL after it, for filters.
const ASKED_TO_HELP: &str = "asked-to-help";

/// A lease, a beat, and a little for a busy machine.
const PICK_UP: Duration = Duration::from_secs(4);

async fn on(url: String) -> Queue {
    Queue::redis(&SecretString::from(url), RedisOptions::default())
        .await
        .unwrap()
}

/// The other side of the tests here: a worker process whose handlers never return. Does nothing in a normal run.
#[tokio::test]
async fn helper_worker() {
    let mut args = std::env::args().skip_while(|arg| arg != ASKED_TO_HELP);
    if args.next().is_none() {
        return;
    }
    let queue = on(args.next().unwrap()).await;
    let handler = |job: Job| async move {
        println!("runs {}", job.id);
        std::future::pending().await
    };
    queue
        .work(2, handler, CancellationToken::new())
        .await
        .unwrap();
}

fn helper(server: &Redis) -> Child {
    let mut command = child::command(std::env::current_exe().unwrap(), None);
    command.args(["--exact", "helper_worker", "--nocapture", ASKED_TO_HELP]);
    command.arg(server.url());
    Child::spawn("worker", command)
}

fn runs(helper: &Child, job: &Job) {
    let line = format!("runs {}", job.id);
    helper
        .log()
        .wait_for(|it| it.ends_with(&line), PATIENCE)
        .expect("the other process runs the job");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heavy_the_jobs_of_a_killed_worker_are_picked_up_within_seconds() {
    let server = Redis::start();
    let queue = on(server.url()).await;
    for round in 0..3 {
        let mut doomed = helper(&server);
        let job = job(round, Normal);
        queue.push(std::slice::from_ref(&job)).await.unwrap();
        runs(&doomed, &job);
        let mut desk = Desk::open(&queue, 2);
        doomed.kill();
        let killed = Instant::now();
        assert_eq!(
            queue.push(std::slice::from_ref(&job)).await.unwrap(),
            [Pushed::Duplicate],
            "its job is held"
        );
        assert_eq!(desk.started().await, job);
        println!("picked up {:?} after kill -9", killed.elapsed());
        assert!(killed.elapsed() < PICK_UP, "{:?}", killed.elapsed());
        assert_eq!(desk.close().await, []);
    }
    assert_eq!(server.key_count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heavy_a_live_worker_keeps_its_jobs_and_a_hung_one_loses_them() {
    let server = Redis::start();
    let queue = on(server.url()).await;
    let mut other = helper(&server);
    queue.push(&jobs(0..1, Normal)).await.unwrap();
    runs(&other, &job(0, Normal));
    let mut desk = Desk::open(&queue, 2);
    // A second worker that starts, and a lease's time and more, take nothing from a live one.
    let early = tokio::time::timeout(PICK_UP, desk.started()).await;
    assert!(early.is_err(), "taken from a live worker: {early:?}");
    other.pause();
    assert_eq!(desk.started().await, job(0, Normal));
    other.resume();
    queue.push(&jobs(1..3, Normal)).await.unwrap();
    desk.close().await;
    other.kill();
}
