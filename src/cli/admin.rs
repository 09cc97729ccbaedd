//! `tender admin`: what staff do to one submission.

use super::{CliError, Reason};
use crate::config::{Source, StoreConfig};
use clap::{Args, Subcommand};
use std::process::ExitCode;
use uuid::Uuid;

/// What staff do to one submission.
#[derive(Clone, Debug, Subcommand)]
pub enum AdminCommand {
    /// Let a failed submission run again; refused while an earlier envelope of it may still take effect
    Requeue(Target),
    /// Cancel a submission that was not sent
    Cancel(Target),
}

/// Which submission, and why.
#[derive(Args, Clone, Debug)]
pub struct Target {
    /// The submission
    #[arg(value_name = "ID")]
    pub id: Uuid,
    /// Why; it is kept with the submission
    #[arg(long, value_name = "TEXT")]
    pub reason: Reason,
}

#[expect(
    clippy::unused_async,
    reason = "the machinery it will await is not built yet"
)]
pub(super) async fn run(command: AdminCommand, source: &Source) -> Result<ExitCode, CliError> {
    let _config = StoreConfig::load(source)?;
    match command {
        AdminCommand::Requeue(_) => Err(CliError::Unavailable("admin requeue")),
        AdminCommand::Cancel(_) => Err(CliError::Unavailable("admin cancel")),
    }
}
