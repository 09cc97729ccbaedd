//! The embedded stack: every role in one process, over SQLite, lanes in memory and a simulated network on loopback.

mod network;
mod roles;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tender_devnet::node::DevNode;
use tokio_util::sync::CancellationToken;

use super::counted;
use super::loops::Loops;
use crate::app::{self, StartError};
use crate::config::EmbeddedConfig;
use crate::domain::ids::AccountId;
use crate::flow::chain::Chain;
use crate::flow::keys::{self, Scope};
use crate::flow::provision::{ProvisionError, Provisioner};
use crate::ledger::{Ledger, LedgerError};
use crate::metrics::Metrics;
use crate::stellar::network::NetworkId;
use crate::stellar::rpc::Rpc;
use crate::stellar::signer::Signer;
use roles::Ground;

/// Passphrase of the simulated network.
pub const PASSPHRASE: &str = "Tender development network";
/// Tenant of the embedded stack's API key.
pub const TENANT: &str = "demo";
/// Starting balance of channel accounts and payees, in stroops.
pub const STARTING_BALANCE: i64 = 10 * 10_000_000;
/// Longest that the simulated network may take to answer.
const RPC_TIMEOUT: Duration = Duration::from_secs(10);

/// How the embedded stack is set up.
pub struct Setup<'a> {
    /// File of the ledger.
    pub database: &'a Path,
    /// Channel accounts.
    pub channels: u32,
    /// Time between two ledgers.
    pub close: Duration,
    /// Where the API listens.
    pub bind: SocketAddr,
}

/// A running embedded stack. Dropped, it is cut off.
pub struct Stack {
    /// The simulated network.
    pub node: DevNode,
    /// Where its JSON-RPC listens.
    pub rpc_url: String,
    /// Where the API listens.
    pub api_url: String,
    /// The ledger.
    pub ledger: Ledger,
    /// The client that the roles share; its calls are counted.
    pub rpc: Rpc,
    /// An API key with every scope.
    pub api_key: SecretString,
    provisioner: Provisioner,
    loops: Loops,
}

/// Why the stack did not come up, or did not go on.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// A part.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Accounts.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The API key.
    #[error(transparent)]
    Key(#[from] keys::CreateError),
    /// The simulated network.
    #[error("simulated network: {0}")]
    Devnet(String),
}

impl Stack {
    /// Brings everything up: network, treasury, channel accounts, ledger, API key and roles. It ends on that shutdown.
    ///
    /// # Errors
    /// See [`EmbeddedError`]; what was started is stopped.
    pub async fn start(
        config: &EmbeddedConfig,
        setup: Setup<'_>,
        shutdown: &CancellationToken,
    ) -> Result<Self, EmbeddedError> {
        let mut loops = Loops::new(shutdown);
        let metrics = Arc::new(Metrics::new().map_err(StartError::from)?);
        let network = NetworkId::new(PASSPHRASE);
        let (node, rpc_url) = network::start(setup.close, &mut loops).await?;
        let ledger = ledger(config, &setup, &metrics).await?;
        let rpc = Rpc::new(
            network.clone(),
            std::slice::from_ref(&rpc_url),
            RPC_TIMEOUT,
            RPC_TIMEOUT,
        )
        .map_err(StartError::from)?;
        let chain = Arc::new(Chain::default());
        let treasury = fresh_signer();
        network::fund(&node, treasury.account()).await?;
        let provisioner = Provisioner::new(
            rpc.clone(),
            Arc::clone(&chain),
            network.clone(),
            treasury.clone(),
            config.fees.default_base_fee,
        );
        let channels: Vec<_> = (0..setup.channels).map(|_| fresh_signer()).collect();
        let accounts: Vec<_> = channels.iter().map(Signer::account).collect();
        provisioner
            .channels(&ledger, &accounts, STARTING_BALANCE)
            .await?;
        let api_key = api_key(&ledger).await?;
        let ground = Ground {
            config,
            close: setup.close,
            network,
            ledger: ledger.clone(),
            rpc: rpc.clone(),
            chain,
            metrics,
        };
        let api_url = roles::start(ground, treasury, channels, setup.bind, &mut loops).await?;
        Ok(Self {
            node,
            rpc_url,
            api_url,
            ledger,
            rpc,
            api_key,
            provisioner,
            loops,
        })
    }

    /// Creates accounts from the treasury.
    ///
    /// # Errors
    /// See [`ProvisionError`].
    pub async fn create_accounts(&self, accounts: &[AccountId]) -> Result<(), ProvisionError> {
        self.provisioner
            .accounts(accounts, STARTING_BALANCE)
            .await
            .map(drop)
    }

    /// Goes on until shutdown, and ends in good order within the grace that every role has.
    ///
    /// # Errors
    /// A part ended unasked.
    pub async fn run(self) -> Result<(), EmbeddedError> {
        Ok(self.loops.run().await?)
    }

    /// Stops every part and waits for it, within the same grace.
    pub async fn stop(self) {
        self.loops.end().await;
    }
}

/// A signer nobody else has.
#[must_use]
pub fn fresh_signer() -> Signer {
    Signer::from_seed(&rand::random())
}

async fn ledger(
    config: &EmbeddedConfig,
    setup: &Setup<'_>,
    metrics: &Arc<Metrics>,
) -> Result<Ledger, LedgerError> {
    let url = format!("sqlite://{}?mode=rwc", setup.database.display());
    let ledger = Ledger::connect(&url, 1, app::rules(&config.submit, setup.close)).await?;
    ledger.migrate_up().await?;
    Ok(counted(ledger, metrics))
}

async fn api_key(ledger: &Ledger) -> Result<SecretString, EmbeddedError> {
    let tenant = TENANT
        .parse()
        .map_err(|_| EmbeddedError::Devnet("tenant".to_owned()))?;
    Ok(keys::create(ledger, &tenant, "embedded stack", &Scope::ALL)
        .await?
        .token)
}
