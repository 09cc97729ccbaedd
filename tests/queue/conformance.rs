//! The promises. Each leaves the queue empty.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex},
    time::Instant,
};

use tender::{
    domain::schedule::Priority::{self, Critical, Low, Normal},
    queue::{
        Job,
        Pushed::{Duplicate, New},
        Queue,
    },
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::desk::{Desk, QUIET, job, jobs};

pub async fn a_job_is_held_once_while_it_waits_and_while_it_runs(queue: Queue) {
    let job = [job(1, Normal)];
    assert_eq!(queue.push(&job).await.unwrap(), [New]);
    assert_eq!(queue.push(&job).await.unwrap(), [Duplicate], "it waits");
    let mut desk = Desk::gated(&queue, 1);
    desk.started().await;
    assert_eq!(queue.push(&job).await.unwrap(), [Duplicate], "it runs");
    assert_eq!(queue.depth(Normal).await.unwrap(), 1);
    desk.release(1);
    assert_eq!(desk.close().await, [], "it ran once");
    assert_eq!(queue.depth(Normal).await.unwrap(), 0);
    assert_eq!(queue.push(&job).await.unwrap(), [New], "it has run");
    let mut desk = Desk::open(&queue, 1);
    desk.started().await;
    desk.close().await;
}

pub async fn a_batch_says_for_each_job_whether_it_was_new(queue: Queue) {
    queue.push(&[job(2, Low), job(4, Critical)]).await.unwrap();
    let batch = [
        job(1, Low),
        job(2, Low),
        job(3, Critical),
        job(4, Critical),
        job(1, Low),
    ];
    let pushed = queue.push(&batch).await.unwrap();
    assert_eq!(pushed, [New, Duplicate, New, Duplicate, Duplicate]);
    assert_eq!(queue.push(&[]).await.unwrap(), []);
    let mut depths = Vec::new();
    for lane in Priority::ALL {
        depths.push(queue.depth(lane).await.unwrap());
    }
    assert_eq!(depths, [2, 0, 2]);
    let mut desk = Desk::open(&queue, 4);
    desk.starts(4).await;
    assert_eq!(desk.close().await, []);
}

pub async fn a_duplicate_is_logged_with_its_ids(queue: Queue) {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(move || writer.clone())
        .finish();
    let job = job(1, Normal);
    queue.push(std::slice::from_ref(&job)).await.unwrap();
    // The test's runtime has one thread, so the subscriber of the thread sees the push.
    let guard = tracing::subscriber::set_default(subscriber);
    queue.push(std::slice::from_ref(&job)).await.unwrap();
    drop(guard);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let line = text
        .lines()
        .find(|line| line.contains("duplicate enqueue rejected"))
        .unwrap_or_else(|| panic!("no such line: {text}"));
    assert!(line.contains("INFO"), "{line}");
    assert!(line.contains(job.id.as_str()), "{line}");
    assert!(line.contains(&job.submission.to_string()), "{line}");
    let mut desk = Desk::open(&queue, 1);
    desk.started().await;
    desk.close().await;
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub async fn the_most_urgent_job_runs_first_and_lanes_are_first_in_first_out(queue: Queue) {
    let pushed = [
        job(1, Low),
        job(2, Low),
        job(3, Normal),
        job(4, Normal),
        job(5, Critical),
        job(6, Critical),
    ];
    queue.push(&pushed).await.unwrap();
    let mut desk = Desk::open(&queue, 1);
    let ran = desk.starts(6).await;
    assert_eq!(ran, [5, 6, 3, 4, 1, 2].map(|n| pushed[n - 1].clone()));
    desk.close().await;
}

pub async fn no_more_handlers_run_than_allowed(queue: Queue) {
    let mut desk = Desk::gated(&queue, 4);
    queue.push(&jobs(0..30, Critical)).await.unwrap();
    desk.starts(4).await;
    desk.stays_quiet().await;
    desk.release(30);
    desk.starts(26).await;
    assert_eq!(desk.most_at_once(), 4);
    desk.close().await;
}

pub async fn critical_jobs_find_a_slot_while_the_others_are_busy(queue: Queue) {
    let mut desk = Desk::gated(&queue, 4);
    queue.push(&jobs(0..5, Low)).await.unwrap();
    queue.push(&jobs(5..10, Normal)).await.unwrap();
    let busy = desk.starts(3).await;
    assert!(busy.iter().all(|job| job.lane != Critical));
    desk.stays_quiet().await;
    queue.push(&jobs(10..12, Critical)).await.unwrap();
    assert_eq!(desk.started().await, job(10, Critical));
    desk.stays_quiet().await;
    desk.release(1);
    assert_eq!(desk.started().await.lane, Critical, "the next free slot");
    desk.release(11);
    desk.starts(7).await;
    assert_eq!(desk.close().await, []);
}

pub async fn a_waiting_worker_starts_a_pushed_job_at_once(queue: Queue) {
    let mut desk = Desk::open(&queue, 2);
    queue.push(&[job(0, Normal)]).await.unwrap();
    desk.started().await;
    let mut latencies = Vec::new();
    for n in 1..=21 {
        let pushed = Instant::now();
        queue.push(&[job(n, Normal)]).await.unwrap();
        desk.started().await;
        latencies.push(pushed.elapsed());
    }
    latencies.sort();
    assert!(
        latencies[10] < QUIET / 3,
        "no polling interval between push and start: {latencies:?}"
    );
    desk.close().await;
}

pub async fn shutdown_finishes_what_runs_and_leaves_the_rest(queue: Queue) {
    let mut desk = Desk::gated(&queue, 2);
    queue.push(&jobs(0..3, Critical)).await.unwrap();
    desk.starts(2).await;
    desk.stop();
    desk.release(1);
    desk.stays_quiet().await;
    assert_eq!(queue.depth(Critical).await.unwrap(), 2, "one is finished");
    desk.release(1);
    assert_eq!(desk.close().await, [], "no job is taken after shutdown");
    assert_eq!(queue.depth(Critical).await.unwrap(), 1);
    let mut desk = Desk::open(&queue, 2);
    assert_eq!(desk.started().await, job(2, Critical));
    desk.close().await;
}

pub async fn a_panicking_handler_ends_its_job_only(queue: Queue) {
    let (start, mut started) = mpsc::unbounded_channel();
    let handler = move |it: Job| {
        let start = start.clone();
        async move {
            start.send(it.clone()).unwrap();
            assert_ne!(it, job(1, Normal), "the handler panics on purpose");
        }
    };
    let shutdown = CancellationToken::new();
    let work = tokio::spawn({
        let (queue, shutdown) = (queue.clone(), shutdown.clone());
        async move { queue.work(1, handler, shutdown).await }
    });
    queue.push(&jobs(1..4, Normal)).await.unwrap();
    for n in 1..4 {
        assert_eq!(started.recv().await.unwrap(), job(n, Normal));
    }
    shutdown.cancel();
    work.await.unwrap().unwrap();
    assert_eq!(queue.depth(Normal).await.unwrap(), 0);
}

pub async fn two_workers_share_the_work(queue: Queue) {
    let (mut one, mut two) = (Desk::gated(&queue, 4), Desk::gated(&queue, 4));
    queue.push(&jobs(0..200, Normal)).await.unwrap();
    let first: Vec<Job> = [one.starts(3).await, two.starts(3).await].concat();
    one.release(200);
    two.release(200);
    let mut ran: Vec<Job> = first;
    while ran.len() < 200 {
        ran.push(tokio::select! {
            job = one.started() => job,
            job = two.started() => job,
        });
    }
    ran.extend(one.close().await);
    ran.extend(two.close().await);
    assert_eq!(ran.len(), 200, "no job ran twice");
    assert_eq!(ran.iter().collect::<HashSet<_>>().len(), 200);
}
