//! `tender migrate`: the tables of the ledger.

use super::CliError;
use crate::app;
use crate::config::{Source, StoreConfig};
use clap::Subcommand;
use std::process::ExitCode;

/// What to do with the tables.
#[derive(Clone, Debug, Subcommand)]
pub enum MigrateCommand {
    /// Apply every migration that is missing
    Up,
    /// Take migrations back, with all rows of their tables
    Down {
        /// How many, the latest first
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        steps: u32,
        /// Confirms that the rows may go: a ledger that forgets its keys can pay them again
        #[arg(long, required = true)]
        yes: bool,
    },
    /// List migrations, applied or missing
    Status,
}

pub(super) async fn run(command: MigrateCommand, source: &Source) -> Result<ExitCode, CliError> {
    let config = StoreConfig::load(source)?;
    let ledger = app::bare_ledger(&config.database, app::staff_rules()).await?;
    match command {
        MigrateCommand::Up => step!("migrate.up", ledger.migrate_up().await)?,
        MigrateCommand::Down { steps, .. } => ledger.migrate_down(Some(steps)).await?,
        MigrateCommand::Status => {}
    }
    for migration in ledger.migration_status().await? {
        let applied = if migration.applied {
            "applied"
        } else {
            "missing"
        };
        println!("{applied}  {}", migration.name);
    }
    Ok(ExitCode::SUCCESS)
}
