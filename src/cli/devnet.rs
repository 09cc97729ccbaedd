//! `tender devnet`: a simulated Stellar network on its own.

use super::CliError;
use crate::app::StartError;
use crate::role;
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tender_devnet::config::NetworkConfig;
use tender_devnet::node::{DevNode, Pace};
use tender_devnet::replay;

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

pub(super) async fn run(args: DevnetArgs) -> Result<ExitCode, CliError> {
    match args.command {
        None => serve(&args).await,
        Some(DevnetCommand::Replay { files }) => Ok(replay_all(&files)),
    }
}

async fn serve(args: &DevnetArgs) -> Result<ExitCode, CliError> {
    let shutdown = role::shutdown_on_signal();
    let io = |error| StartError::Io {
        what: format!("port {}", args.bind),
        error,
    };
    let listener = tokio::net::TcpListener::bind(args.bind).await.map_err(io)?;
    let address = listener.local_addr().map_err(io)?;
    let close = Duration::from_millis(args.close_ms);
    let node = DevNode::start(
        NetworkConfig::development(&args.passphrase),
        Pace::Every(close),
    );
    println!(
        "simulated network at http://{address}, friendbot at http://{address}/friendbot?addr=G..."
    );
    tender_devnet::rpc::serve(node, listener, shutdown.cancelled_owned())
        .await
        .map_err(io)?;
    Ok(ExitCode::SUCCESS)
}

/// Replays every file, so that one difference does not hide the next file's.
fn replay_all(files: &[PathBuf]) -> ExitCode {
    let mut equal = true;
    for file in files {
        match replay::replay_file(file) {
            Ok(_) => println!("{}: equal", file.display()),
            Err(difference) => {
                equal = false;
                println!("{difference}");
            }
        }
    }
    if equal {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
