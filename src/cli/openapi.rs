//! `tender openapi`: the description of the HTTP interface, made without database, network or keys.

use super::CliError;
use crate::http;
use clap::Args;
use std::io::Write as _;
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

pub(super) fn run(args: &OpenapiArgs) -> Result<ExitCode, CliError> {
    let document = http::openapi_yaml();
    if !args.check {
        std::io::stdout().write_all(document.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = args.file.display();
    let stored = std::fs::read_to_string(&args.file)
        .map_err(|error| CliError::Refused(format!("{file}: {error}")))?;
    if stored == document {
        println!("{file} is what this version serves");
        return Ok(ExitCode::SUCCESS);
    }
    Err(CliError::Refused(format!(
        "{file} is not what this version serves: write it anew with `tender openapi > {file}`"
    )))
}
