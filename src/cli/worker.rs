//! `tender worker`.

use super::CliError;
use crate::config::{Source, WorkerConfig};
use crate::role;
use std::process::ExitCode;

pub(super) async fn run(source: &Source) -> Result<ExitCode, CliError> {
    let config = WorkerConfig::load(source)?;
    role::worker::run(&config, role::shutdown_on_signal()).await?;
    Ok(ExitCode::SUCCESS)
}
