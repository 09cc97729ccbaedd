//! Redis restarts, forgets, stalls and is away: workers wait for it and go on, without a restart of theirs.

use std::{collections::HashSet, time::Duration};

use tender::{
    domain::schedule::Priority::{Critical, Normal},
    queue::{Job, Pushed, Queue},
};

use crate::{
    desk::{Desk, PATIENCE, job, jobs},
    on,
    support::redis::Redis,
};

/// Longer than a lease would need to lapse if the stall did not stop the server too.
const STALL: Duration = Duration::from_secs(2);

/// How often the ledger's feed looks, in these tests.
const ROUND: Duration = Duration::from_millis(100);

/// Pushes what has not run yet again and again, as the ledger's feed does, until all has run and nothing is left.
async fn feed_until_all_ran(queue: &Queue, desk: &mut Desk, all: &[Job]) {
    let mut missing: HashSet<Job> = all.iter().cloned().collect();
    let mut rounds = tokio::time::interval(ROUND);
    loop {
        tokio::select! {
            job = desk.started() => {
                missing.remove(&job);
            }
            _ = rounds.tick() => {
                let again: Vec<Job> = missing.iter().cloned().collect();
                // The server may be away: the next round tries again.
                let _ = queue.push(&again).await;
                let left = queue.depth(Normal).await;
                if missing.is_empty() && left.is_ok_and(|left| left == 0) {
                    return;
                }
            }
        }
    }
}

#[tokio::test]
async fn work_goes_on_after_redis_restarts_under_load() {
    let mut server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::open(&queue, 4);
    let all = jobs(0..2_000, Normal);
    queue.push(&all).await.unwrap();
    desk.starts(100).await;
    let server = tokio::task::spawn_blocking(move || {
        server.kill9();
        server.start_again();
        server
    });
    let server = server.await.unwrap();
    feed_until_all_ran(&queue, &mut desk, &all).await;
    queue.ping().await.unwrap();
    desk.close().await;
    assert_eq!(server.key_count(), 0);
}

#[tokio::test]
async fn a_flushed_queue_is_filled_again_and_nothing_here_runs_twice_at_once() {
    let server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::gated(&queue, 4);
    let all = jobs(0..20, Critical);
    queue.push(&all).await.unwrap();
    desk.starts(4).await;
    server.flushall();
    let pushed = queue.push(&all).await.unwrap();
    assert_eq!(pushed, [Pushed::New; 20], "Redis remembers nothing");
    desk.stays_quiet().await;
    desk.release(1_000);
    desk.starts(16).await;
    assert_eq!(desk.most_at_once(), 4);
    queue.push(&[job(100, Normal)]).await.unwrap();
    assert_eq!(desk.started().await, job(100, Normal));
    desk.close().await;
}

#[tokio::test]
async fn a_stalled_redis_neither_ends_a_worker_nor_repeats_a_job() {
    let mut server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::gated(&queue, 4);
    queue.push(&jobs(0..2, Normal)).await.unwrap();
    desk.starts(2).await;
    server.pause();
    let late = tokio::spawn({
        let queue = queue.clone();
        async move { queue.push(&jobs(2..4, Critical)).await }
    });
    tokio::time::sleep(STALL).await;
    assert!(!late.is_finished(), "the stalled server has not answered");
    server.resume();
    assert_eq!(late.await.unwrap().unwrap(), [Pushed::New; 2]);
    assert_eq!(desk.starts(2).await, jobs(2..4, Critical));
    desk.release(4);
    assert_eq!(desk.close().await, [], "nothing ran twice");
    assert_eq!(server.key_count(), 0);
}

#[tokio::test]
async fn a_worker_that_starts_before_redis_waits_for_it() {
    let mut server = Redis::start();
    server.stop();
    let queue = on(&server).await;
    let mut desk = Desk::open(&queue, 2);
    assert!(queue.ping().await.is_err(), "readiness tells the truth");
    assert!(queue.push(&[job(1, Normal)]).await.is_err());
    server.start_again();
    let all = [job(1, Normal)];
    feed_until_all_ran(&queue, &mut desk, &all).await;
    queue.ping().await.unwrap();
    desk.close().await;
}

#[tokio::test]
async fn a_worker_whose_connection_is_cut_hears_of_new_jobs_again() {
    let server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::open(&queue, 2);
    for round in 0..5 {
        for kind in ["normal", "pubsub"] {
            let mut kill = redis::cmd("CLIENT");
            kill.arg("KILL")
                .arg("TYPE")
                .arg(kind)
                .arg("SKIPME")
                .arg("yes");
            server.ask::<u64>(&kill);
        }
        let all = jobs(round * 10..round * 10 + 10, Normal);
        feed_until_all_ran(&queue, &mut desk, &all).await;
    }
    let subscribed: (String, u64) =
        server.ask(redis::cmd("PUBSUB").arg("NUMSUB").arg("tender:wake"));
    assert_eq!(subscribed.1, 1, "it listens again");
    desk.close().await;
}

#[tokio::test]
async fn a_worker_ends_in_time_although_redis_is_gone() {
    let mut server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::gated(&queue, 2);
    queue.push(&[job(1, Critical)]).await.unwrap();
    desk.started().await;
    server.kill9();
    desk.release(1);
    tokio::time::timeout(PATIENCE, desk.close()).await.unwrap();
}
