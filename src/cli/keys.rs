//! `tender keys`: API keys.

use super::CliError;
use crate::app;
use crate::config::{Source, StoreConfig};
use crate::domain::key::Tenant;
use crate::flow::keys::{self, Scope};
use clap::Subcommand;
use secrecy::ExposeSecret as _;
use std::process::ExitCode;

/// What to do with API keys.
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// Create a key and print it: it is shown this once
    Create {
        /// Whose key it is: 1 to 64 visible characters
        #[arg(long, value_name = "NAME")]
        tenant: Tenant,
        /// What it may do, comma-separated: transactions:write, transactions:read, outbox:read, outbox:write, keys:write, audit:read
        #[arg(long, value_name = "SCOPES", required = true, value_delimiter = ',')]
        scopes: Vec<Scope>,
        /// What people call it
        #[arg(long, value_name = "TEXT", default_value = "made on the command line")]
        name: String,
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

pub(super) async fn run(command: KeysCommand, source: &Source) -> Result<ExitCode, CliError> {
    let config = StoreConfig::load(source)?;
    let ledger = app::ledger(&config.database, app::staff_rules()).await?;
    match command {
        KeysCommand::Create {
            tenant,
            scopes,
            name,
        } => {
            let issued = keys::create(&ledger, &tenant, &name, &scopes).await?;
            println!("{}", issued.token.expose_secret());
        }
        KeysCommand::List { tenant } => {
            for key in ledger
                .list_keys()
                .await?
                .into_iter()
                .filter(|key| tenant.as_ref().is_none_or(|t| *t == key.tenant))
            {
                let state = if key.revoked_at.is_some() {
                    "revoked"
                } else {
                    "valid"
                };
                println!(
                    "{}  {state}  {}  {}  {}",
                    key.id,
                    key.tenant.as_str(),
                    key.scopes.join(","),
                    key.name
                );
            }
        }
        KeysCommand::Revoke { id } => {
            if !step!("keys.revoke", ledger.revoke_key(&id).await)? {
                return Err(CliError::Refused(format!("no valid key has the id {id}")));
            }
            println!("{id} is revoked");
        }
    }
    Ok(ExitCode::SUCCESS)
}
