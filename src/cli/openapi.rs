//! `tender openapi`: the description of the HTTP interface, made without database, network or keys.

use super::CliError;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to do with the document.
#[derive(Args, Clone, Debug)]
pub struct OpenapiArgs {
    /// Compares the document with the file and fails where they differ, rather than print it
    #[arg(long)]
    pub check: bool,
    /// The file to compare with
    #[arg(long, value_name = "FILE", default_value = "openapi/openapi.yaml")]
    pub file: PathBuf,
}

pub(super) fn run(_args: OpenapiArgs) -> Result<ExitCode, CliError> {
    Err(CliError::Unavailable("openapi"))
}
