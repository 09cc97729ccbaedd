//! `tender devnet`: a simulated Stellar network on its own.

use super::CliError;
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// How the simulated network runs.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DevnetArgs {
    /// Where its JSON-RPC listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    pub bind: SocketAddr,
    /// Time between two ledgers, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(100..=60_000))]
    pub close_ms: u64,
    /// Network passphrase; the root account's key derives from it
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "Standalone Network ; February 2017"
    )]
    pub passphrase: String,
    /// What to do instead of running.
    #[command(subcommand)]
    pub command: Option<DevnetCommand>,
}

/// What to do instead of running.
#[derive(Debug, Subcommand)]
pub enum DevnetCommand {
    /// Replay traces recorded from a real node, and name the first step and field that differ
    Replay {
        /// Trace files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
}

#[expect(
    clippy::unused_async,
    reason = "the machinery it will await is not built yet"
)]
pub(super) async fn run(args: DevnetArgs) -> Result<ExitCode, CliError> {
    match args.command {
        None => Err(CliError::Unavailable("devnet")),
        Some(DevnetCommand::Replay { .. }) => Err(CliError::Unavailable("devnet replay")),
    }
}
