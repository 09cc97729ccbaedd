//! Figures: memory, latency and what an idle worker costs. Run with `--no-capture` to read them.

use std::time::{Duration, Instant};

use tender::domain::schedule::Priority::Normal;

use crate::{
    desk::{Desk, job, jobs},
    on,
    support::redis::Redis,
};

/// Jobs in the queue at once, as the ledger's feed keeps it.
const WINDOW: u64 = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heavy_twenty_thousand_jobs_leave_neither_keys_nor_memory() {
    let server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::open(&queue, 16);
    let run = async |desk: &mut Desk, from: u64| {
        queue
            .push(&jobs(from..from + WINDOW, Normal))
            .await
            .unwrap();
        desk.starts(usize::try_from(WINDOW).unwrap()).await;
    };
    run(&mut desk, 0).await;
    let before = server.memory();
    let began = Instant::now();
    let mut most = 0;
    for round in 1..=40 {
        run(&mut desk, round * WINDOW).await;
        most = most.max(server.memory());
        assert!(server.key_count() <= 9);
    }
    let elapsed = began.elapsed();
    assert_eq!(desk.close().await, []);
    assert_eq!(server.key_count(), 0);
    let after = server.memory();
    println!("20000 jobs in {elapsed:?}; Redis memory before {before}, most {most}, after {after}");
    assert!(after < before + 512 * 1024, "{before} -> {after}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heavy_a_pushed_job_starts_within_milliseconds() {
    let server = Redis::start();
    let (pusher, queue) = (on(&server).await, on(&server).await);
    let mut desk = Desk::open(&queue, 8);
    let mut latencies = Vec::new();
    for n in 0..1_050 {
        let pushed = Instant::now();
        pusher.push(&[job(n, Normal)]).await.unwrap();
        desk.started().await;
        latencies.push(pushed.elapsed());
    }
    latencies.drain(..50);
    latencies.sort();
    let (p50, p99) = (latencies[500], latencies[990]);
    println!("push to start: p50 {p50:?}, p99 {p99:?}");
    assert!(
        p50 < Duration::from_millis(20),
        "far from the goal: {p50:?}"
    );
    desk.close().await;
}

#[tokio::test]
async fn an_idle_worker_asks_little_of_redis() {
    let server = Redis::start();
    let queue = on(&server).await;
    let mut desk = Desk::open(&queue, 8);
    queue.push(&[job(1, Normal)]).await.unwrap();
    desk.started().await;
    let calls = || -> u64 {
        let info: String = server.ask(redis::cmd("INFO").arg("commandstats"));
        let line = info
            .lines()
            .find(|line| line.starts_with("cmdstat_evalsha:"));
        let count = line.and_then(|line| line.split("calls=").nth(1)?.split(',').next());
        count.unwrap().parse().unwrap()
    };
    let before = calls();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let idle = calls() - before;
    println!("idle: {idle} script calls in 3 s");
    assert!(idle <= 9, "{idle} calls in 3 s");
    desk.close().await;
}
