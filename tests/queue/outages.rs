//! Redis restarts, forgets, stalls and is away: workers wait for it and go on, without a restart of theirs.

use std::{collections::HashSet, net::Ipv4Addr, time::Duration};

use secrecy::SecretString;
use tender::{
    domain::schedule::Priority::{Critical, Normal},
    queue::{Job, Pushed, Queue, RedisOptions},
};

use crate::{
    desk::{Desk, PATIENCE, job, jobs},
    on,
    support::{
        proxy::{Proxy, Weather},
        redis::Redis,
    },
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
async fn a_flushed_queue_is_filled_again_and_what_runs_here_is_not_started_twice() {
    let server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::gated(&queue, 8);
    let all = jobs(0..20, Critical);
    queue.push(&all[..4]).await.unwrap();
    assert_eq!(desk.starts(4).await, all[..4]);
    server.flushall();
    let pushed = queue.push(&all).await.unwrap();
    assert_eq!(pushed, [Pushed::New; 20], "Redis remembers nothing");
    assert_eq!(desk.starts(4).await, all[4..8], "the first four still run");
    desk.stays_quiet().await;
    desk.release(all.len());
    assert_eq!(desk.starts(12).await, all[8..]);
    assert_eq!(desk.close().await, []);
    assert_eq!(server.key_count(), 0);
}

#[tokio::test]
async fn a_job_that_ends_after_its_lease_lapsed_does_not_run_again() {
    let server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::gated(&queue, 1);
    let job = job(1, Critical);
    queue.push(std::slice::from_ref(&job)).await.unwrap();
    desk.started().await;
    // As after a worker that hung for longer than a lease: the job waits again while it still runs.
    let id = job.id.as_str();
    server.ask::<u64>(redis::cmd("ZREM").arg("tender:critical:leases").arg(id));
    server.ask::<u64>(redis::cmd("LPUSH").arg("tender:critical:waiting").arg(id));
    let again = queue.push(std::slice::from_ref(&job)).await.unwrap();
    assert_eq!(again, [Pushed::Duplicate]);
    desk.release(2);
    assert_eq!(desk.close().await, []);
    assert_eq!(server.key_count(), 0);
}

#[tokio::test]
async fn a_stalled_redis_neither_ends_a_worker_nor_repeats_a_job() {
    let mut server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::gated(&queue, 4);
    queue.push(&jobs(0..2, Normal)).await.unwrap();
    desk.starts(2).await;
    server.pause();
    let mut late = tokio::spawn({
        let queue = queue.clone();
        async move { queue.push(&jobs(2..4, Critical)).await }
    });
    let early = tokio::time::timeout(STALL, &mut late).await;
    assert!(early.is_err(), "the stalled server answers nobody");
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

#[tokio::test]
async fn a_server_that_became_a_replica_is_connected_to_anew() {
    let (server, master) = (Redis::start(), Redis::start());
    let queue = on(&server).await;
    let connection = || -> Option<u64> {
        let clients: String = server.ask(redis::cmd("CLIENT").arg("LIST"));
        let ours = clients.lines().filter(|line| line.contains("cmd=evalsha"));
        ours.filter_map(|line| line.strip_prefix("id=")?.split(' ').next()?.parse().ok())
            .max()
    };
    queue.push(&[job(1, Normal)]).await.unwrap();
    let first = connection();
    let port = master.port().to_string();
    server.ask::<()>(redis::cmd("REPLICAOF").arg("127.0.0.1").arg(port));
    for _ in 0..2 {
        let refused = queue.push(&[job(2, Normal)]).await.unwrap_err();
        assert!(refused.to_string().contains("replica"), "{refused}");
    }
    let unfit = queue.ping().await.unwrap_err();
    assert!(unfit.to_string().contains("replica"), "{unfit}");
    let second = connection();
    assert!(first.is_some() && second > first, "{first:?} {second:?}");
}

#[tokio::test]
async fn a_server_without_memory_to_spare_says_so_until_it_has() {
    let server = Redis::start();
    let queue = on(&server).await;
    let limit = |bytes: &str| {
        let mut config = redis::cmd("CONFIG");
        config.arg("SET").arg("maxmemory").arg(bytes);
        server.ask::<()>(&config);
    };
    queue.ping().await.unwrap();
    limit("1");
    assert!(queue.ping().await.is_err(), "readiness tells the truth");
    limit("0");
    queue.ping().await.unwrap();
    assert_eq!(server.key_count(), 0, "asking leaves nothing behind");
}

#[tokio::test]
async fn a_worker_that_starts_while_redis_answers_late_takes_jobs() {
    let server = Redis::start();
    let proxy = Proxy::to((Ipv4Addr::LOCALHOST, server.port()).into()).await;
    proxy.set(Weather::Late(STALL));
    on(&server).await.push(&[job(1, Normal)]).await.unwrap();
    let url = SecretString::from(format!("redis://{}/", proxy.address()));
    let late = Queue::redis(&url, RedisOptions::default()).await.unwrap();
    let mut desk = Desk::open(&late, 2);
    assert_eq!(desk.started().await, job(1, Normal));
    proxy.set(Weather::Fair);
    desk.close().await;
    assert_eq!(server.key_count(), 0);
}
