//! What integration tests share: throwaway servers on free loopback ports, and the service's own processes.
//!
//! Whatever is started here ends with the value that stands for it, and with the test process, however that dies.
//! A server that is not installed is a failure that names its package, never a skipped test.
#![allow(
    dead_code,
    reason = "each test binary uses its own part of the support"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a failed expectation is how a test speaks"
)]

pub mod child;
pub mod log;
pub mod port;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod redis;
pub mod scratch;
pub mod tree;

use std::{thread, time::Duration};

/// How long a server or a service may take to start or to stop, on a machine that is busy with other tests.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One PostgreSQL and one Redis, started side by side.
pub fn servers() -> (postgres::Postgres, redis::Redis) {
    thread::scope(|scope| {
        let postgres = scope.spawn(postgres::Postgres::start);
        let redis = redis::Redis::start();
        (postgres.join().expect("PostgreSQL starts"), redis)
    })
}
