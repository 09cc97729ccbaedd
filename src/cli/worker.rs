//! `tender worker`.

use super::CliError;
use crate::config::{Source, WorkerConfig};
use std::process::ExitCode;

pub(super) async fn run(source: &Source) -> Result<ExitCode, CliError> {
    let _config = WorkerConfig::load(source)?;
    Err(CliError::Unavailable("worker"))
}
