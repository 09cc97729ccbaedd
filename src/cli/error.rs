//! What stops a command.

use crate::app::StartError;
use crate::config::Faults;
use crate::flow::keys::CreateError;
use crate::flow::provision::ProvisionError;
use crate::flow::recover::SurveyError;
use crate::ledger::LedgerError;

/// What stops a command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The configuration is faulty.
    #[error(transparent)]
    Config(#[from] Faults),
    /// A role or one of its parts did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Channel accounts could not be created.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// An API key could not be made.
    #[error(transparent)]
    Key(#[from] CreateError),
    /// The embedded stack did not come up.
    #[cfg(feature = "devnet")]
    #[error(transparent)]
    Embedded(#[from] crate::role::embedded::EmbeddedError),
    /// There is no report.
    #[cfg(feature = "devnet")]
    #[error(transparent)]
    Demo(#[from] crate::role::demo::DemoError),
    /// The chain or the ledger did not tell what was forgotten.
    #[error("{0}; what was recovered so far is kept, run it again")]
    Recover(#[from] SurveyError),
    /// What was asked for cannot be done; the text says why.
    #[error("{0}")]
    Refused(String),
    /// The answer could not be written.
    #[error("standard output: {0}")]
    Output(#[from] std::io::Error),
}
