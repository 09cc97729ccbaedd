//! `tender channels`: the pool of channel accounts.

use super::CliError;
use crate::app;
use crate::config::{ChannelsConfig, Source, StoreConfig};
use crate::domain::ids::AccountId;
use crate::domain::plan::AccountState;
use crate::flow::chain::Chain;
use crate::flow::fresh;
use crate::flow::provision::Provisioner;
use crate::flow::reason::Reason;
use crate::ledger::{Channel, ChannelState, Ledger};
use crate::role;
use crate::stellar::network::NetworkId;
use crate::stellar::rpc::Rpc;
use clap::Subcommand;
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;

/// Starting balance of a channel account, in stroops: 2 base reserves of 0.5 XLM, and fees for years.
const STARTING_BALANCE: i64 = 30_000_000;

/// What to do with the pool.
#[derive(Clone, Debug, Subcommand)]
pub enum ChannelsCommand {
    /// Create the accounts that are missing on the network, and enter all of them into the pool
    Provision,
    /// Compare the pool with the network; return a quarantined account to it
    Verify {
        /// The quarantined account (G...) to return to the pool, once nothing speaks against it
        #[arg(long, value_name = "ACCOUNT", requires = "reason")]
        release: Option<AccountId>,
        /// Why it may return
        #[arg(long, value_name = "TEXT", requires = "release")]
        reason: Option<Reason>,
    },
    /// List the accounts of the pool and what they carry
    List,
}

pub(super) async fn run(command: ChannelsCommand, source: &Source) -> Result<ExitCode, CliError> {
    match command {
        ChannelsCommand::Provision => provision(&ChannelsConfig::load(source)?).await,
        ChannelsCommand::Verify { release, reason } => {
            let config = ChannelsConfig::load(source)?;
            let ledger = app::ledger(&config.database, app::staff_rules()).await?;
            let network = NetworkId::new(&config.network.passphrase);
            let rpc = app::rpc(&config.rpc, &network)?;
            if !app::serves_network(&rpc, &network).await? {
                return Err(CliError::Refused("no RPC node answers".to_owned()));
            }
            match release.zip(reason) {
                Some((account, reason)) => release_one(&ledger, &rpc, account, &reason).await,
                None => verify(&ledger, &rpc).await,
            }
        }
        ChannelsCommand::List => {
            let config = StoreConfig::load(source)?;
            let ledger = app::ledger(&config.database, app::staff_rules()).await?;
            for channel in ledger.channels().await? {
                let leased = channel
                    .leased_by
                    .map(|id| format!("  by {id}"))
                    .unwrap_or_default();
                let reason = channel
                    .reason
                    .map(|reason| format!("  {reason}"))
                    .unwrap_or_default();
                println!(
                    "{}  {:<11}  next {}{leased}{reason}",
                    channel.account,
                    channel.state.as_str(),
                    channel.next_sequence
                );
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn provision(config: &ChannelsConfig) -> Result<ExitCode, CliError> {
    let network = NetworkId::new(&config.network.passphrase);
    let accounts: Vec<_> = app::channel_signers(&config.signers.channels)?
        .iter()
        .map(crate::stellar::signer::Signer::account)
        .collect();
    // Refuses a treasury among the channels before anything is created.
    app::keyring(&config.signers)?;
    let ledger = app::ledger(&config.database, app::staff_rules()).await?;
    let rpc = app::rpc(&config.rpc, &network)?;
    app::confirm_network(&rpc, &network, &role::shutdown_on_signal()).await?;
    let treasury = app::signer(&config.signers.treasury)?;
    let provisioner = Provisioner::new(
        rpc,
        Arc::new(Chain::default()),
        network,
        treasury,
        config.fees.default_base_fee,
    );
    provisioner
        .channels(&ledger, &accounts, STARTING_BALANCE)
        .await?;
    let pool = ledger.pool().await?;
    println!(
        "{} channel accounts: {} free, {} leased, {} quarantined",
        accounts.len(),
        pool.free,
        pool.leased,
        pool.quarantined
    );
    Ok(ExitCode::SUCCESS)
}

/// What the chain says of accounts now.
async fn states(
    rpc: &Rpc,
    channels: &[Channel],
) -> Result<HashMap<AccountId, AccountState>, CliError> {
    let accounts: Vec<_> = channels.iter().map(|channel| channel.account).collect();
    if accounts.is_empty() {
        return Ok(HashMap::new());
    }
    let states = fresh::accounts(rpc, &Chain::default(), &accounts).await;
    let states = states.map_err(|not_fresh| CliError::Refused(not_fresh.to_string()))?;
    Ok(states.into_iter().collect())
}

/// What is wrong with an account, if anything. A leased or shared one is on its way, so only its absence is.
fn disagreement(channel: &Channel, shared: bool, state: Option<AccountState>) -> Option<String> {
    match (state, channel.state) {
        (None | Some(AccountState::Absent), _) => Some("does not exist on the network".to_owned()),
        (Some(AccountState::Present { sequence, .. }), ChannelState::Free)
            if !shared && sequence + 1 != channel.next_sequence =>
        {
            Some(format!(
                "is at sequence {sequence} on the network, {} is next here",
                channel.next_sequence
            ))
        }
        (Some(AccountState::Present { .. }), ChannelState::Quarantined) => Some(format!(
            "is quarantined: {}",
            channel.reason.as_deref().unwrap_or("no reason is known")
        )),
        (Some(AccountState::Present { .. }), ChannelState::Free | ChannelState::Leased) => None,
    }
}

async fn verify(ledger: &Ledger, rpc: &Rpc) -> Result<ExitCode, CliError> {
    let channels = ledger.channels().await?;
    let states = states(rpc, &channels).await?;
    let mut wrong = 0;
    for channel in &channels {
        let sequences = ledger.sequences(channel.account).await?;
        let shared = sequences.is_some_and(|sequences| !sequences.held.is_empty());
        let state = states.get(&channel.account).copied();
        if let Some(problem) = disagreement(channel, shared, state) {
            wrong += 1;
            println!("{}  {problem}", channel.account);
        }
    }
    println!("{} channel accounts, {wrong} to look at", channels.len());
    Ok(if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn release_one(
    ledger: &Ledger,
    rpc: &Rpc,
    account: AccountId,
    reason: &Reason,
) -> Result<ExitCode, CliError> {
    let channels: Vec<_> = ledger
        .channels()
        .await?
        .into_iter()
        .filter(|channel| channel.account == account)
        .collect();
    let Some(AccountState::Present { sequence, .. }) =
        states(rpc, &channels).await?.remove(&account)
    else {
        return Err(CliError::Refused(format!(
            "{account} is not in the pool, or does not exist on the network"
        )));
    };
    let released = step!(
        "channels.release",
        ledger
            .release_verified(account, sequence, reason.as_str())
            .await
    )?;
    if !released {
        return Err(CliError::Refused(format!("{account} is not quarantined")));
    }
    println!("{account} is free, {} is next", sequence + 1);
    Ok(ExitCode::SUCCESS)
}
