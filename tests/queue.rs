//! What every queue promises: one suite, run on each backend.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

mod support;

#[path = "queue/desk.rs"]
mod desk;

#[path = "queue/conformance.rs"]
mod conformance;

use secrecy::SecretString;
use support::redis::Redis;
use tender::queue::{Queue, RedisOptions};

/// Runs each promise on each backend.
macro_rules! promises {
    ($($promise:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test] async fn $promise() {
                super::conformance::$promise(super::Queue::memory()).await;
            })+
        }
        mod redis {
            $(#[tokio::test] async fn $promise() {
                let server = super::Redis::start();
                super::conformance::$promise(super::on(&server).await).await;
                assert_eq!(server.keys("*"), Vec::<String>::new(), "all jobs ran: no key is left");
            })+
        }
    };
}

async fn on(server: &Redis) -> Queue {
    Queue::redis(&SecretString::from(server.url()), RedisOptions::default())
        .await
        .unwrap()
}

promises!(
    a_job_is_held_once_while_it_waits_and_while_it_runs,
    a_batch_says_for_each_job_whether_it_was_new,
    a_duplicate_is_logged_with_its_ids,
    the_most_urgent_job_runs_first_and_lanes_are_first_in_first_out,
    no_more_handlers_run_than_allowed,
    critical_jobs_find_a_slot_while_the_others_are_busy,
    a_waiting_worker_starts_a_pushed_job_at_once,
    shutdown_finishes_what_runs_and_leaves_the_rest,
    a_panicking_handler_ends_its_job_only,
    two_workers_share_the_work,
);
