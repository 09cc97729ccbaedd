//! `tender channels`: the pool of channel accounts.

use super::{CliError, Reason};
use crate::config::{ChannelsConfig, Source, StoreConfig};
use clap::Subcommand;
use std::process::ExitCode;
use stellar_strkey::ed25519::PublicKey;

/// What to do with the pool.
#[derive(Clone, Debug, Subcommand)]
pub enum ChannelsCommand {
    /// Create the accounts that are missing on the network, and enter all of them into the pool
    Provision,
    /// Compare the pool with the network; return a quarantined account to it
    Verify {
        /// The quarantined account (G...) to return to the pool, once nothing speaks against it
        #[arg(long, value_name = "ACCOUNT", requires = "reason", value_parser = PublicKey::from_string)]
        release: Option<PublicKey>,
        /// Why it may return
        #[arg(long, value_name = "TEXT", requires = "release")]
        reason: Option<Reason>,
    },
    /// List the accounts of the pool and what they carry
    List,
}

#[expect(
    clippy::unused_async,
    reason = "the machinery it will await is not built yet"
)]
pub(super) async fn run(command: ChannelsCommand, source: &Source) -> Result<ExitCode, CliError> {
    match command {
        ChannelsCommand::Provision => {
            let _config = ChannelsConfig::load(source)?;
            Err(CliError::Unavailable("channels provision"))
        }
        ChannelsCommand::Verify { .. } => {
            let _config = ChannelsConfig::load(source)?;
            Err(CliError::Unavailable("channels verify"))
        }
        ChannelsCommand::List => {
            let _config = StoreConfig::load(source)?;
            Err(CliError::Unavailable("channels list"))
        }
    }
}
