//! `tender dev`: the embedded stack.

use super::CliError;
use crate::config::{EmbeddedConfig, Source};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// How the embedded stack runs.
#[derive(Args, Debug)]
pub struct DevArgs {
    /// Channel accounts of the pool
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub channels: u32,
    /// Time between two ledgers, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(100..=10_000))]
    pub close_ms: u64,
    /// Keeps the ledger in this new file rather than in a temporary one. It must not exist yet: the simulated network forgets its past when it stops
    #[arg(long, value_name = "FILE")]
    pub database: Option<PathBuf>,
}

#[expect(
    clippy::unused_async,
    reason = "the machinery it will await is not built yet"
)]
pub(super) async fn run(args: DevArgs, source: &Source) -> Result<ExitCode, CliError> {
    let _config = EmbeddedConfig::load(source, Duration::from_millis(args.close_ms))?;
    Err(CliError::Unavailable("dev"))
}
