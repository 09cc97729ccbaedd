//! What stops a command.

use crate::config::Faults;

/// What stops a command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The configuration is faulty.
    #[error(transparent)]
    Config(#[from] Faults),
    /// The command's machinery is not part of this build.
    #[error("`tender {0}` is not available in this build")]
    Unavailable(&'static str),
    /// The answer could not be written.
    #[error("standard output: {0}")]
    Output(#[from] std::io::Error),
}
