//! What the ledger promises, on both databases: every case of every file runs on SQLite and on PostgreSQL.
//!
//! The cases speak to the public API. Where they look behind it, or go past it, they do so in plain SQL.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

#[path = "../support/mod.rs"]
mod support;

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

mod accepting;
mod bed;
mod capacity;
mod claiming;
mod constraints;
mod durability;
mod fates;
mod feeding;
mod lateness;
mod leases;
mod looking_up;
mod memory;
mod migrations;
mod progress;
mod reading;
mod recording;
mod serialized;
mod settling;
mod transitions;
