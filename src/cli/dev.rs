//! `tender dev`: the embedded stack.

use super::CliError;
use crate::config::{EmbeddedConfig, Source};
use crate::role;
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

pub(super) async fn run(args: DevArgs, source: &Source) -> Result<ExitCode, CliError> {
    let close = Duration::from_millis(args.close_ms);
    let config = EmbeddedConfig::load(source, close)?;
    // Removed with everything in it when the stack has stopped.
    let directory = tempfile::tempdir()?;
    let database = match args.database {
        Some(file) if file.exists() => {
            let problem =
                "exists: the simulated network would not know the payments recorded there";
            return Err(CliError::Refused(format!("{} {problem}", file.display())));
        }
        Some(file) => file,
        None => directory.path().join("tender.sqlite"),
    };
    role::dev::run(
        &config,
        &database,
        args.channels,
        close,
        role::shutdown_on_signal(),
    )
    .await?;
    Ok(ExitCode::SUCCESS)
}
