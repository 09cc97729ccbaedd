//! `tender worker`.

use super::CliError;
use crate::config::{Source, WorkerConfig};
use std::process::ExitCode;

#[expect(
    clippy::unused_async,
    reason = "the machinery it will await is not built yet"
)]
pub(super) async fn run(source: &Source) -> Result<ExitCode, CliError> {
    let _config = WorkerConfig::load(source)?;
    Err(CliError::Unavailable("worker"))
}
