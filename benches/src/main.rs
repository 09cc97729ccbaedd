//! Measures tender on this machine: `cargo run --release -p bench -- all`.
//!
//! Servers are throwaway ones on loopback ports, shared with the tests. The service's processes are this program once
//! more, called with the word `tender`: the same library, so that nothing else needs to be built first.

mod accept;
mod crowd;
mod deployment;
mod embedded;
mod flow;
mod lateness;
mod lifecycle;
mod machine;
mod payments;
mod process;
mod queue;
mod recovery;
mod report;
mod status;
mod web;
mod work;

#[path = "../../tests/support/mod.rs"]
mod support;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use tender::cli::{self, Cli};
use tender::config::{Log, Source};

use report::Report;

/// A measurement that could not be made ends the run: half a table would be read as a whole one.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures tender on this machine.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Arguments {
    /// What to measure
    #[arg(required = true)]
    what: Vec<What>,
    /// Writes the figures to this file too, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Everything below but recovery, in a few minutes
    All,
    /// Durable accepts, at the ledger and over HTTP
    Accept,
    /// From a push to the start of its handler
    Queue,
    /// Every durable step of a payment, without a network
    Lifecycle,
    /// Polling of one status over HTTP
    Status,
    /// Payments over a simulated network, by processes over PostgreSQL and Redis
    Payments,
    /// The same by the embedded stack, network included
    Embedded,
    /// How late payments start that were put off
    Lateness,
    /// Throughput before and after each kind of outage, in ten minutes
    Recovery,
}

impl What {
    const PARTS: [Self; 8] = [
        Self::Accept,
        Self::Queue,
        Self::Lifecycle,
        Self::Status,
        Self::Payments,
        Self::Embedded,
        Self::Lateness,
        Self::Recovery,
    ];
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "tender") {
        return serve().await;
    }
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Is the service, as its own program would be.
async fn serve() -> ExitCode {
    let cli = Cli::parse_from(std::env::args_os().skip(1));
    let source = Source::from_process(cli.env_file.as_deref());
    tender::telemetry::start(&Log::early(&source));
    cli::run(cli.command, &source).await
}

async fn run(arguments: &Arguments) -> Outcome<()> {
    let all = arguments.what.contains(&What::All);
    let mut report = Report::new(machine::describe()?);
    for part in What::PARTS {
        let in_all = all && part != What::Recovery;
        if !in_all && !arguments.what.contains(&part) {
            continue;
        }
        eprintln!("-- {part:?}, load {}", machine::load()?);
        match part {
            What::All => {}
            What::Accept => accept::measure(&mut report).await?,
            What::Queue => queue::measure(&mut report).await?,
            What::Lifecycle => lifecycle::measure(&mut report).await?,
            What::Status => status::measure(&mut report).await?,
            What::Payments => payments::measure(&mut report).await?,
            What::Embedded => embedded::measure(&mut report).await?,
            What::Lateness => lateness::measure(&mut report).await?,
            What::Recovery => recovery::measure(&mut report).await?,
        }
    }
    report.machine.load_after = machine::load()?;
    println!("{report}");
    if let Some(file) = &arguments.json {
        std::fs::write(file, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(())
}
