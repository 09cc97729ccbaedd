//! `tender api`.

use super::CliError;
use crate::config::{ApiConfig, Source};
use crate::role;
use std::process::ExitCode;

pub(super) async fn run(source: &Source) -> Result<ExitCode, CliError> {
    let config = ApiConfig::load(source)?;
    role::api::run(&config, role::shutdown_on_signal()).await?;
    Ok(ExitCode::SUCCESS)
}
