//! `tender api`.

use super::CliError;
use crate::config::{ApiConfig, Source};
use std::process::ExitCode;

#[expect(
    clippy::unused_async,
    reason = "the machinery it will await is not built yet"
)]
pub(super) async fn run(source: &Source) -> Result<ExitCode, CliError> {
    let _config = ApiConfig::load(source)?;
    Err(CliError::Unavailable("api"))
}
