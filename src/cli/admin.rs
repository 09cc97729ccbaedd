//! `tender admin`: what staff do to one submission.

use super::CliError;
use crate::app;
use crate::config::{Source, StoreConfig};
use crate::domain::ids::SubmissionId;
use crate::flow::reason::Reason;
use crate::flow::requeue::{Requeued, requeue};
use crate::flow::withdraw::{Withdrawn, cancel};
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

/// Who acts, in the transition log.
const ACTOR: &str = "cli";

pub(super) async fn run(command: AdminCommand, source: &Source) -> Result<ExitCode, CliError> {
    let config = StoreConfig::load(source)?;
    let ledger = app::ledger(&config.database, app::staff_rules()).await?;
    match command {
        AdminCommand::Requeue(Target { id, reason }) => {
            told_requeued(requeue(&ledger, SubmissionId(id), &reason, ACTOR).await?)
        }
        AdminCommand::Cancel(Target { id, reason }) => {
            told_withdrawn(cancel(&ledger, SubmissionId(id), &reason, ACTOR).await?)
        }
    }
}

fn refused(why: impl Into<String>) -> Result<ExitCode, CliError> {
    Err(CliError::Refused(why.into()))
}

fn told_requeued(outcome: Requeued) -> Result<ExitCode, CliError> {
    match outcome {
        Requeued::Done(row) => {
            println!(
                "{} is {} again, generation {}",
                row.id,
                row.state.status.as_str(),
                row.state.generation
            );
            Ok(ExitCode::SUCCESS)
        }
        Requeued::OutcomeUnknown => {
            refused("an earlier envelope of it could still be applied: wait until that is decided")
        }
        Requeued::AlreadyEffective => refused("a transaction of it succeeded: it never runs again"),
        Requeued::NotFailed(status) => refused(format!(
            "it is {}: only a failed submission is requeued",
            status.as_str()
        )),
        Requeued::Busy => refused("it keeps changing: try again"),
        Requeued::NotFound => refused("no such submission"),
    }
}

fn told_withdrawn(outcome: Withdrawn) -> Result<ExitCode, CliError> {
    match outcome {
        Withdrawn::Done(row) => {
            println!("{} is {}", row.id, row.state.status.as_str());
            Ok(ExitCode::SUCCESS)
        }
        Withdrawn::NotCancellable(status) => refused(format!(
            "it is {}: only a pending submission is cancelled",
            status.as_str()
        )),
        Withdrawn::OutcomeUnknown => {
            refused("an envelope of it may still be applied: wait until that is decided")
        }
        Withdrawn::Busy => refused("it keeps changing: try again"),
        Withdrawn::NotFound => refused("no such submission"),
    }
}
