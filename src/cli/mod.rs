//! The commands of the `tender` program. Each has a file with its arguments and a thin function that runs it.

mod admin;
mod api;
mod channels;
mod check;
#[cfg(feature = "devnet")]
mod demo;
#[cfg(feature = "devnet")]
mod dev;
#[cfg(feature = "devnet")]
mod devnet;
mod error;
mod keys;
mod migrate;
mod openapi;
mod reconciler;
mod recover;
mod worker;

pub use admin::{AdminCommand, Target};
pub use channels::ChannelsCommand;
pub use check::{ConfigCommand, ReferenceFormat, RoleName};
#[cfg(feature = "devnet")]
pub use demo::DemoArgs;
#[cfg(feature = "devnet")]
pub use dev::DevArgs;
#[cfg(feature = "devnet")]
pub use devnet::{DevnetArgs, DevnetCommand};
pub use error::CliError;
pub use keys::KeysCommand;
pub use migrate::MigrateCommand;
pub use openapi::OpenapiArgs;
pub use recover::RecoverArgs;

use crate::config::{Log, Source};
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Puts payments on the Stellar network exactly once per idempotency key.
#[derive(Debug, Parser)]
#[command(
    name = "tender",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(
    after_help = "Settings come from the environment and from .env: `tender config reference` lists them,\n`tender config check` says what is wrong with yours."
)]
pub struct Cli {
    /// Reads settings from this file rather than from .env; the environment wins over both
    #[arg(long, global = true, value_name = "FILE")]
    pub env_file: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the HTTP API: take payments, tell their status
    Api,
    /// Build, record and send what was taken
    Worker,
    /// Settle what was sent, by what the chain says
    Reconciler,
    /// Run all of it on this machine, with a simulated network and nothing to set up
    #[cfg(feature = "devnet")]
    Dev(DevArgs),
    /// Pay over a network that loses answers, then count on the chain what was paid
    #[cfg(feature = "devnet")]
    Demo(DemoArgs),
    /// Run a simulated Stellar network, or replay recorded traces on it
    #[cfg(feature = "devnet")]
    Devnet(DevnetArgs),
    /// Bring the database to this version's tables, or back
    #[command(subcommand)]
    Migrate(MigrateCommand),
    /// Print the `OpenAPI` document, or check the file of it.
    #[command(about = "Print the OpenAPI document, or check the file of it")]
    Openapi(OpenapiArgs),
    /// Create, check and list the channel accounts
    #[command(subcommand)]
    Channels(ChannelsCommand),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Requeue or cancel a submission
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Have the chain tell what a ledger that was set back has forgotten
    Recover(RecoverArgs),
    /// Check the configuration, or print what can be set
    #[command(subcommand)]
    Config(ConfigCommand),
}

impl Command {
    /// How to log. A demonstration shows its report rather than its work, unless it is told otherwise.
    #[must_use]
    pub fn log(&self, source: &Source) -> Log {
        let log = Log::early(source);
        #[cfg(feature = "devnet")]
        if matches!(self, Self::Demo(_)) && source.lookup("LOG_FILTER").is_none() {
            return Log {
                filter: "warn".to_owned(),
                ..log
            };
        }
        log
    }
}

/// Runs a command with the settings of `source`. An error is written to standard error and gives exit status 1.
pub async fn run(command: Command, source: &Source) -> ExitCode {
    match dispatch(command, source).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(command: Command, source: &Source) -> Result<ExitCode, CliError> {
    match command {
        Command::Api => api::run(source).await,
        Command::Worker => worker::run(source).await,
        Command::Reconciler => reconciler::run(source).await,
        #[cfg(feature = "devnet")]
        Command::Dev(args) => dev::run(args, source).await,
        #[cfg(feature = "devnet")]
        Command::Demo(args) => demo::run(args).await,
        #[cfg(feature = "devnet")]
        Command::Devnet(args) => devnet::run(args).await,
        Command::Migrate(command) => migrate::run(command, source).await,
        Command::Openapi(args) => openapi::run(&args),
        Command::Channels(command) => channels::run(command, source).await,
        Command::Keys(command) => keys::run(command, source).await,
        Command::Admin(command) => admin::run(command, source).await,
        Command::Recover(args) => recover::run(args, source).await,
        Command::Config(command) => check::run(&command, source),
    }
}
