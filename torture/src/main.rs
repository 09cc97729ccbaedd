//! Kills Tender's processes again and again, then counts on the chain what was paid:
//! `cargo run --release -p torture -- --kills 2000 --seed 7`.
//!
//! Servers are throwaway ones on loopback ports, and the network is a simulated one within this program, where answers
//! get lost and ledgers stall all the while. The service's processes are this program once more, called with the word
//! `tender`: the same library, built with its failpoints.
//!
//! - `steps`: every step that has failpoints, and where they are reached
//! - `stage`: starting processes so that they die, and counting that
//! - `commands`, `directed`: points that are reached in certain situations only
//! - `storm`: random kills of everything under load, `load` and `weather` being part of it
//! - `pickup`: how long a dead worker's jobs wait
//! - `auditor`: what the chain and the ledger say afterwards, `rows` and `legal` being what it compares
//! - `report`: all of it as JSON
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what cannot be measured ends the run"
)]

mod auditor;
mod commands;
mod directed;
mod foreign;
mod legal;
mod load;
mod pickup;
mod report;
mod rows;
mod stage;
mod steps;
mod storm;
mod weather;

#[path = "../../tests/support/mod.rs"]
mod support;

#[path = "../../tests/processes/audit.rs"]
#[allow(dead_code, reason = "shared with the tests of processes")]
mod audit;
#[path = "../../tests/processes/client.rs"]
#[allow(dead_code, reason = "shared with the tests of processes")]
mod client;
#[path = "../../tests/processes/deployment.rs"]
#[allow(dead_code, reason = "shared with the tests of processes")]
mod deployment;
#[path = "../../tests/processes/ledgers.rs"]
#[allow(dead_code, reason = "shared with the tests of processes")]
mod ledgers;
#[path = "../../tests/processes/waiting.rs"]
#[allow(dead_code, reason = "shared with the tests of processes")]
mod waiting;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use tender::cli::{self, Cli};
use tender::config::{Log, Source};

use deployment::Deployment;
use report::Report;
use stage::Stage;

/// Kills Tender's processes again and again, then counts on the chain what was paid.
#[derive(Debug, Parser)]
#[command(name = "torture")]
struct Arguments {
    /// How many kills, at least; each failpoint takes one
    #[arg(long, default_value_t = 300)]
    kills: u64,
    /// What random choices follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Kills of workers whose jobs are timed
    #[arg(long, default_value_t = 50)]
    pickups: u32,
    /// Seconds that these jobs may wait, at the 99th percentile
    #[arg(long, default_value_t = 5.0)]
    pickup_limit: f32,
    /// Writes the report to this file too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Channel accounts of the pool at first.
const CHANNELS: u32 = 12;

#[tokio::main]
async fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "tender") {
        return serve().await;
    }
    let arguments = Arguments::parse();
    let report = torture(&arguments).await;
    let text = serde_json::to_string_pretty(&report).expect("a report is JSON");
    println!("{text}");
    if let Some(file) = &arguments.json {
        std::fs::write(file, &text).expect("the report's file can be written");
    }
    if report.is_clean() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Is the service, as its own program would be.
async fn serve() -> ExitCode {
    tender::failpoint::arm();
    let cli = Cli::parse_from(std::env::args_os().skip(1));
    let source = Source::from_process(cli.env_file.as_deref());
    tender::telemetry::start(&Log::early(&source));
    cli::run(cli.command, &source).await
}

async fn torture(arguments: &Arguments) -> Report {
    let began = Instant::now();
    let bind = format!("127.0.0.1:{}", support::port::free());
    let mut deployment = Deployment::start_with(CHANNELS, &stage::settings(&bind)).await;
    let mut stage = Stage::new(&deployment, &bind, arguments.seed);
    tokio::task::block_in_place(|| {
        commands::run(&mut stage, &mut deployment);
        let late = directed::run(&stage, &mut deployment);
        stage.say("the storm begins");
        storm::run(&stage, &mut deployment, arguments.kills);
        directed::finish(&stage, late);
        let pickups = pickup::measure(
            &stage,
            &deployment,
            arguments.pickups,
            arguments.pickup_limit,
        );
        stage.say("everything drains");
        let audited = auditor::drain_and_audit(&stage, &deployment);
        Report::new(&stage, &deployment, audited, pickups, began.elapsed())
    })
}
