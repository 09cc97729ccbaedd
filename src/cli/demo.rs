//! `tender demo`: payments over a network that loses answers, and a count of what the chain says.

use super::CliError;
use crate::config::{EmbeddedConfig, Source};
use crate::role::{self, demo::Demonstration};
use clap::Args;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

/// What the demonstration pays, and how unreliable its network is.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Payments to make, each with a key of its own
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub payments: u32,
    /// Requests that repeat an earlier one, mixed in
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub duplicates: u32,
    /// Channel accounts of the pool
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub channels: u32,
    /// Sends in a thousand whose answer is lost, half of them after the network took the envelope; 0 for none
    // 300 rather than 200: by chance alone, a run of 100 sends then hardly ever loses fewer than 20.
    #[arg(long, value_name = "PERMILLE", default_value_t = 300, value_parser = clap::value_parser!(u32).range(0..=900))]
    pub loss: u32,
    /// Time between two ledgers, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(100..=10_000))]
    pub close_ms: u64,
    /// Ends after the report rather than staying up to be looked at
    #[arg(long)]
    pub exit: bool,
    /// Prints the report as one JSON object, on the last line
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(args: DemoArgs) -> Result<ExitCode, CliError> {
    let close = Duration::from_millis(args.close_ms);
    // Always the defaults: what is shown must not depend on settings that lie about.
    let config = EmbeddedConfig::load(&Source::default(), close)?;
    let demonstration = Demonstration {
        payments: args.payments,
        duplicates: args.duplicates,
        channels: args.channels,
        loss: u16::try_from(args.loss).unwrap_or(u16::MAX),
        close,
        watched: std::io::stderr().is_terminal(),
    };
    let (stay, shutdown) = (!args.exit, role::shutdown_on_signal());
    let report = role::demo::run(&config, demonstration, stay, &shutdown).await?;
    if args.json {
        println!(
            "{}",
            serde_json::to_string(&report).map_err(std::io::Error::from)?
        );
    } else if !stay {
        println!("{report}");
    }
    Ok(if report.holds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
