//! `tender devnet`: a simulated Stellar network on its own.

use super::CliError;
use crate::app::StartError;
use crate::role;
use clap::{Args, Subcommand};
use std::fmt::Display;
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tender_devnet::config::NetworkConfig;
use tender_devnet::faults::{FaultPlan, MAX_LAG, MAX_PLAN_BYTES};
use tender_devnet::node::{DevNode, Pace};
use tender_devnet::replay;
use tender_devnet::rpc::{FrontEnd, MAX_REPLICAS, serve_front};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

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
    /// Keep the chain in this file, so that it goes on after a restart; a file of another network is refused
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Ledgers of history the network keeps
    #[arg(long, value_name = "LEDGERS", default_value_t = 120_960, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub history: u32,
    /// Stand for several replicas behind the address that take turns, each this many ledgers behind: `0,5`
    #[arg(long, value_name = "LEDGERS", value_delimiter = ',', default_value = "0", value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_LAG)))]
    pub lags: Vec<u32>,
    /// Listen at a further address that shows the network this many ledgers behind: `127.0.0.1:8001=5`
    #[arg(long, value_name = "ADDRESS=LEDGERS", value_parser = replica)]
    pub replica: Vec<Replica>,
    /// Begin with the faults in this file, in the form that `POST /faults` takes
    ///
    /// While it runs, `POST /faults` sets its faults, `GET /faults` tells what they did and `DELETE /faults` ends them;
    /// only where it listens on the loopback interface. docs/DEVNET.md has the form.
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// What to do instead of running.
    #[command(subcommand)]
    pub command: Option<DevnetCommand>,
}

/// A further address, and how far behind it is.
#[derive(Clone, Copy, Debug)]
pub struct Replica {
    bind: SocketAddr,
    lag: u32,
}

fn replica(text: &str) -> Result<Replica, String> {
    let (bind, lag) = text.split_once('=').ok_or("it must be ADDRESS=LEDGERS")?;
    let bind = bind.parse().map_err(|_| "the address must be IP:PORT")?;
    let lag = lag.parse().ok().filter(|lag| *lag <= MAX_LAG);
    let lag = lag.ok_or_else(|| format!("it can be at most {MAX_LAG} ledgers behind"))?;
    Ok(Replica { bind, lag })
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
    if args.lags.len().max(args.replica.len()) > MAX_REPLICAS {
        let reason = format!("there can be at most {MAX_REPLICAS} replicas");
        return Err(CliError::Refused(reason));
    }
    let shutdown = role::shutdown_on_signal();
    let node = open(args)?;
    let (listener, address) = listen(args.bind).await?;
    println!(
        "simulated network at http://{address}, friendbot at http://{address}/friendbot?addr=G..."
    );
    let mut serving = vec![(FrontEnd::new(node.clone()).with_lags(&args.lags), listener)];
    for replica in &args.replica {
        let (listener, address) = listen(replica.bind).await?;
        println!("replica {} ledgers behind at http://{address}", replica.lag);
        let front = FrontEnd::new(node.clone()).with_lags(&[replica.lag]);
        serving.push((front, listener));
    }
    let mut servers = JoinSet::new();
    for (front, listener) in serving {
        let (shutdown, node) = (shutdown.clone(), node.clone());
        let ended = async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = node.stopped() => {}
            }
        };
        servers.spawn(serve_front(front.with_admin(), listener, ended));
    }
    while let Some(served) = servers.join_next().await {
        served
            .map_err(io::Error::other)
            .and_then(|served| served)
            .map_err(|error| at_port(args.bind, error))?;
    }
    if shutdown.is_cancelled() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(CliError::Refused(
            "the chain can no longer be kept in its file".to_owned(),
        ))
    }
}

fn open(args: &DevnetArgs) -> Result<DevNode, CliError> {
    let plan = args.faults.as_deref().map(read_plan).transpose()?;
    let config = NetworkConfig {
        history_window: args.history,
        ..NetworkConfig::development(&args.passphrase)
    };
    let pace = Pace::Every(Duration::from_millis(args.close_ms));
    let node = match &args.state {
        None => DevNode::start(config, pace),
        Some(path) => DevNode::open(config, pace, path)
            .map_err(|error| CliError::Refused(format!("{}: {error}", path.display())))?,
    };
    if let Some(plan) = plan {
        node.set_faults(plan);
    }
    Ok(node)
}

fn read_plan(path: &Path) -> Result<FaultPlan, CliError> {
    let refused = |reason: &dyn Display| CliError::Refused(format!("{}: {reason}", path.display()));
    let mut text = Vec::new();
    // One byte more than a plan may have is enough to see that it has too many.
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_PLAN_BYTES as u64 + 1).read_to_end(&mut text))
        .map_err(|error| refused(&error))?;
    FaultPlan::from_json(&text).map_err(|error| refused(&error))
}

async fn listen(bind: SocketAddr) -> Result<(TcpListener, SocketAddr), CliError> {
    let listener = TcpListener::bind(bind).await;
    let listener = listener.map_err(|error| at_port(bind, error))?;
    let address = listener
        .local_addr()
        .map_err(|error| at_port(bind, error))?;
    Ok((listener, address))
}

fn at_port(bind: SocketAddr, error: io::Error) -> StartError {
    StartError::Io {
        what: format!("port {bind}"),
        error,
    }
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
