//! `tender keys`: API keys.

use super::{CliError, Tenant};
use crate::config::{Source, StoreConfig};
use clap::{Subcommand, ValueEnum};
use std::process::ExitCode;

/// What to do with API keys.
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// Create a key and print it: it is shown this once
    Create {
        /// Whose key it is: 1 to 64 of a-z, 0-9, - and _
        #[arg(long, value_name = "NAME")]
        tenant: Tenant,
        /// What it may do, comma-separated
        #[arg(long, value_name = "SCOPES", required = true, value_delimiter = ',')]
        scopes: Vec<Scope>,
    },
    /// List keys, without their secrets
    List {
        /// Only this tenant's
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
    },
    /// Revoke a key: it is refused from now on
    Revoke {
        /// The middle part of `tender_<id>_<secret>`
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// What an API key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// Read submissions of the key's tenant
    #[value(name = "transactions:read")]
    TransactionsRead,
    /// Make payments
    #[value(name = "transactions:write")]
    TransactionsWrite,
    /// Look at the outbox as staff
    #[value(name = "outbox:read")]
    OutboxRead,
    /// Requeue and cancel as staff
    #[value(name = "outbox:write")]
    OutboxWrite,
    /// Create and revoke keys
    #[value(name = "keys:write")]
    KeysWrite,
    /// Read the audit log
    #[value(name = "audit:read")]
    AuditRead,
}

#[expect(
    clippy::unused_async,
    reason = "the machinery it will await is not built yet"
)]
pub(super) async fn run(command: KeysCommand, source: &Source) -> Result<ExitCode, CliError> {
    let _config = StoreConfig::load(source)?;
    match command {
        KeysCommand::Create { .. } => Err(CliError::Unavailable("keys create")),
        KeysCommand::List { .. } => Err(CliError::Unavailable("keys list")),
        KeysCommand::Revoke { .. } => Err(CliError::Unavailable("keys revoke")),
    }
}
