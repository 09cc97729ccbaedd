//! `tender demo`: payments over a network that loses answers, and a count of what the chain says.

use super::CliError;
use clap::Args;
use std::process::ExitCode;

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

#[expect(
    clippy::unused_async,
    reason = "the machinery it will await is not built yet"
)]
pub(super) async fn run(_args: DemoArgs) -> Result<ExitCode, CliError> {
    Err(CliError::Unavailable("demo"))
}
