//! The embedded stack: every role in one process, over SQLite, lanes in memory and a simulated network on loopback.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tender_devnet::config::NetworkConfig;
use tender_devnet::node::{DevNode, Pace};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{api, readiness, worker};
use crate::app::{self, StartError};
use crate::config::EmbeddedConfig;
use crate::domain::ids::AccountId;
use crate::flow::chain::Chain;
use crate::flow::feed::Feed;
use crate::flow::keys::{self, Scope};
use crate::flow::provision::{ProvisionError, Provisioner};
use crate::flow::reconcile::Reconciler;
use crate::flow::send::{SendDelays, Sender};
use crate::flow::submit::Submitter;
use crate::http::{self, Parts};
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::stellar::keyring::{Identity, KeyRing};
use crate::stellar::network::NetworkId;
use crate::stellar::rpc::Rpc;
use crate::stellar::signer::Signer;

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

/// A running embedded stack.
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
    roles: JoinSet<()>,
    shutdown: CancellationToken,
}

/// Why the stack did not come up.
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
    Ledger(#[from] crate::ledger::LedgerError),
    /// The API key.
    #[error(transparent)]
    Key(#[from] keys::CreateError),
    /// The simulated network.
    #[error("simulated network: {0}")]
    Devnet(String),
}

/// What the roles are made from.
struct Ingredients<'a> {
    config: &'a EmbeddedConfig,
    close: Duration,
    network: NetworkId,
    ledger: Ledger,
    rpc: Rpc,
    chain: Arc<Chain>,
    treasury: Signer,
    channels: Vec<Signer>,
}

impl Stack {
    /// Brings everything up: network, treasury, channel accounts, ledger, API key and roles.
    ///
    /// # Errors
    /// See [`EmbeddedError`]; what was started is stopped.
    pub async fn start(config: &EmbeddedConfig, setup: Setup<'_>) -> Result<Self, EmbeddedError> {
        let shutdown = CancellationToken::new();
        let mut roles = JoinSet::new();
        let network = NetworkId::new(PASSPHRASE);
        let (node, rpc_url) = start_network(setup.close, &mut roles, &shutdown).await?;
        let url = format!("sqlite://{}?mode=rwc", setup.database.display());
        let ledger = Ledger::connect(&url, 1, app::rules(&config.submit, setup.close)).await?;
        ledger.migrate_up().await?;
        let rpc = Rpc::new(
            network.clone(),
            std::slice::from_ref(&rpc_url),
            RPC_TIMEOUT,
            RPC_TIMEOUT,
        )
        .map_err(StartError::from)?;
        let chain = Arc::new(Chain::default());
        let treasury = fresh_signer();
        fund(&node, treasury.account()).await?;
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
        let ingredients = Ingredients {
            config,
            close: setup.close,
            network,
            ledger: ledger.clone(),
            rpc: rpc.clone(),
            chain,
            treasury,
            channels,
        };
        let api_url = start_roles(ingredients, setup.bind, &mut roles, &shutdown).await?;
        Ok(Self {
            node,
            rpc_url,
            api_url,
            ledger,
            rpc,
            api_key,
            provisioner,
            roles,
            shutdown,
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

    /// Stops every role and waits for it.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        while self.roles.join_next().await.is_some() {}
    }
}

/// A signer nobody else has.
#[must_use]
pub fn fresh_signer() -> Signer {
    Signer::from_seed(&rand::random())
}

async fn start_network(
    close: Duration,
    roles: &mut JoinSet<()>,
    shutdown: &CancellationToken,
) -> Result<(DevNode, String), EmbeddedError> {
    let node = DevNode::start(NetworkConfig::development(PASSPHRASE), Pace::Every(close));
    let listener = loopback(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let url = format!("http://{}", address(&listener)?);
    let (serving, shutdown) = (node.clone(), shutdown.clone());
    roles.spawn(async move {
        if let Err(error) =
            tender_devnet::rpc::serve(serving, listener, shutdown.cancelled_owned()).await
        {
            tracing::error!(%error, "the simulated network stopped");
        }
    });
    Ok((node, url))
}

async fn loopback(bind: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(bind)
        .await
        .map_err(|error| StartError::Io {
            what: format!("port {bind}"),
            error,
        })
}

fn address(listener: &TcpListener) -> Result<SocketAddr, StartError> {
    listener.local_addr().map_err(|error| StartError::Io {
        what: "port".to_owned(),
        error,
    })
}

async fn fund(node: &DevNode, account: AccountId) -> Result<(), EmbeddedError> {
    let funded = node.fund(&account.to_string()).await;
    funded
        .map(drop)
        .map_err(|error| EmbeddedError::Devnet(error.to_string()))
}

async fn api_key(ledger: &Ledger) -> Result<SecretString, EmbeddedError> {
    let tenant = TENANT
        .parse()
        .map_err(|_| EmbeddedError::Devnet("tenant".to_owned()))?;
    Ok(keys::create(ledger, &tenant, "embedded stack", &Scope::ALL)
        .await?
        .token)
}

/// The parts of the roles, put together.
struct Roles {
    api: Parts,
    queue: Queue,
    submitter: Submitter,
    reconciler: Reconciler,
    feed: Feed,
    nudge: Arc<Notify>,
    concurrency: usize,
}

fn assemble(parts: Ingredients<'_>) -> Result<Roles, StartError> {
    let Ingredients {
        config,
        close,
        network,
        ledger,
        rpc,
        chain,
        treasury,
        channels,
    } = parts;
    let (queue, nudge) = (Queue::memory(), Arc::new(Notify::new()));
    let identity = Identity {
        network,
        treasury: treasury.account(),
    };
    let keys = KeyRing::new(treasury.clone(), treasury.account(), channels)?;
    let sender = Arc::new(Sender::new(
        ledger.clone(),
        rpc.clone(),
        Arc::clone(&chain),
        SendDelays::new(close, RPC_TIMEOUT),
    ));
    let settings = app::submit_settings(&config.submit, &config.fees);
    let submitter = Submitter::new(
        ledger.clone(),
        Arc::clone(&sender),
        identity.clone(),
        keys,
        Arc::clone(&chain),
        settings,
    );
    let settings = app::reconcile_settings(&config.submit, &config.fees, close);
    let reconciler = Reconciler::new(ledger.clone(), sender, identity, treasury, chain, settings);
    let feed = Feed::new(
        ledger.clone(),
        queue.clone(),
        app::feed_settings(&config.queue),
    );
    let api = Parts {
        readiness: readiness::of(ledger.clone(), Some(queue.clone()), Some(rpc)),
        ledger,
        nudge: Arc::clone(&nudge),
        metrics: Arc::new(Metrics::new()?),
        settings: api::settings(&config.http, &config.fees),
    };
    Ok(Roles {
        api,
        queue,
        submitter,
        reconciler,
        feed,
        nudge,
        concurrency: config.queue.concurrency as usize,
    })
}

/// Starts API, worker, reconciler and feed; returns where the API listens.
async fn start_roles(
    parts: Ingredients<'_>,
    bind: SocketAddr,
    roles: &mut JoinSet<()>,
    shutdown: &CancellationToken,
) -> Result<String, EmbeddedError> {
    let Roles {
        api,
        queue,
        submitter,
        reconciler,
        feed,
        nudge,
        concurrency,
    } = assemble(parts)?;
    let listener = loopback(bind).await?;
    let url = format!("http://{}", address(&listener)?);
    spawn(roles, shutdown, async move |stop| {
        if let Err(error) = http::serve(api, listener, stop).await {
            tracing::error!(%error, "the API stopped");
        }
    });
    spawn(roles, shutdown, async move |stop| {
        if let Err(error) = worker::work(&queue, submitter, concurrency, &stop).await {
            tracing::error!(%error, "the worker stopped");
        }
    });
    let freed = Arc::clone(&nudge);
    spawn(roles, shutdown, async move |stop| {
        reconciler.run(&freed, &stop).await;
    });
    spawn(roles, shutdown, async move |stop| {
        feed.run(&nudge, &stop).await;
    });
    Ok(url)
}

fn spawn<F, Fut>(roles: &mut JoinSet<()>, shutdown: &CancellationToken, role: F)
where
    F: FnOnce(CancellationToken) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    roles.spawn(role(shutdown.clone()));
}
