//! `tender config`: is the configuration right, and what can be configured?

use super::CliError;
use crate::config::{self, Effective, Origin, Role, Source};
use clap::{Subcommand, ValueEnum};
use std::io::Write;
use std::process::ExitCode;

/// What to do with the configuration.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Say everything that is wrong with the settings, or what they come to
    Check {
        /// The process that is to start with them
        #[arg(long, value_name = "ROLE", default_value = "all")]
        role: RoleName,
    },
    /// Print every setting with its meaning and default
    Reference {
        /// As a .env file or as Markdown tables
        #[arg(long, value_name = "FORMAT", default_value = "env")]
        format: ReferenceFormat,
    },
}

/// A role as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleName {
    /// api, worker and reconciler together
    All,
    /// `tender api`
    Api,
    /// `tender worker`
    Worker,
    /// `tender reconciler`
    Reconciler,
    /// `tender channels`
    Channels,
    /// `tender migrate`, `tender keys` and `tender admin`
    Store,
    /// `tender dev`
    Dev,
}

/// How the reference is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReferenceFormat {
    /// A .env file
    Env,
    /// Markdown tables
    Markdown,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::All => Self::All,
            RoleName::Api => Self::Api,
            RoleName::Worker => Self::Worker,
            RoleName::Reconciler => Self::Reconciler,
            RoleName::Channels => Self::Channels,
            RoleName::Store => Self::Store,
            RoleName::Dev => Self::Dev,
        }
    }
}

pub(super) fn run(command: &ConfigCommand, source: &Source) -> Result<ExitCode, CliError> {
    let mut out = std::io::stdout().lock();
    match command {
        ConfigCommand::Check { role } => {
            for line in config::check(source, (*role).into())?.iter().map(line) {
                writeln!(out, "{line}")?;
            }
        }
        ConfigCommand::Reference { format } => {
            let text = match format {
                ReferenceFormat::Env => config::env_example(),
                ReferenceFormat::Markdown => config::settings_table(),
            };
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(effective: &Effective) -> String {
    let name = effective.setting;
    let Some(value) = &effective.value else {
        return format!("# {name} is not set");
    };
    let origin = match effective.origin {
        Origin::Set => "",
        Origin::File => "  # from a file",
        Origin::Default => "  # default",
    };
    format!("{name}={value}{origin}")
}
