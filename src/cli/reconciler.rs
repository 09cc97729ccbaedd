//! `tender reconciler`.

use super::CliError;
use crate::config::{ReconcilerConfig, Source};
use crate::role;
use std::process::ExitCode;

pub(super) async fn run(source: &Source) -> Result<ExitCode, CliError> {
    let config = ReconcilerConfig::load(source)?;
    role::reconciler::run(&config, role::shutdown_on_signal()).await?;
    Ok(ExitCode::SUCCESS)
}
