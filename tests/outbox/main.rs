//! The table `outbox`: what callers write within transactions of their own is taken in as if it had come over HTTP.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

#[path = "../ledger/bed.rs"]
#[allow(dead_code, reason = "shared with the tests of the ledger")]
mod bed;
#[path = "../support/mod.rs"]
mod support;
#[path = "../processes/waiting.rs"]
#[allow(dead_code, reason = "shared with the tests of processes")]
mod waiting;

/// Makes two tests of each case, one for each database.
macro_rules! on_both {
    ($($case:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::bed::Bed::sqlite().await).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::bed::Bed::postgres().await).await;
            })+
        }
    };
}

mod announcing;
#[cfg(feature = "devnet")]
mod embedded;
mod enqueueing;
mod examples;
mod limits;
mod relaying;
mod table;
