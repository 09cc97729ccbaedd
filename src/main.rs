//! The `tender` program: parses the command, starts the log, runs one role.

use clap::Parser;
use std::process::ExitCode;
use tender::cli::{self, Cli};
use tender::config::Source;
use tender::telemetry;

#[tokio::main]
async fn main() -> ExitCode {
    #[cfg(feature = "failpoints")]
    tender::failpoint::arm();
    let cli = Cli::parse();
    let source = Source::from_process(cli.env_file.as_deref());
    telemetry::start(&cli.command.log(&source));
    cli::run(cli.command, &source).await
}
