//! The program as several processes over real PostgreSQL and Redis, on a simulated network whose ledgers the test
//! closes. What was paid is counted on the chain, by the tag each envelope carries, never in the service's database.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a failed expectation is how a test speaks"
)]

#[path = "../support/mod.rs"]
mod support;

mod audit;
mod client;
mod deployment;
mod hanging;
mod ledgers;
mod waiting;

mod crash;
mod heavy_crowd;
mod heavy_flood;
mod heavy_network;
mod heavy_outbox;
mod heavy_postgres;
mod heavy_race;
mod heavy_redis;
mod heavy_restore;
mod heavy_rolling;
mod heavy_serialized;
mod heavy_shutdown;
mod probing;
mod staff;
mod starting;
