//! What is measured: servers, the service's processes over them, and a simulated network.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use secrecy::ExposeSecret;
use tender::domain::ids::AccountId;
use tender::flow::keys::{self, Scope};
use tender::ledger::Ledger;
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::Rpc;
use tender_devnet::config::NetworkConfig;
use tender_devnet::node::{DevNode, Pace};
use tender_devnet::rpc::FrontEnd;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::Outcome;
use crate::support::port;
use crate::support::postgres::Postgres;
use crate::support::process::{Process, tender};
use crate::support::redis::Redis;
use crate::web::{self, Connection};
use crate::work::{TENANT, fresh_account, fresh_ledger};

/// The simulated network's.
pub const PASSPHRASE: &str = "Tender bench network";
/// Time between two ledgers.
pub const CLOSE: Duration = Duration::from_secs(1);
/// Accounts that are paid.
const PAYEES: usize = 25;
/// Connections of this program's own, to look at the ledger with.
const CONNECTIONS: u32 = 4;
const RPC_TIMEOUT: Duration = Duration::from_secs(10);

/// PostgreSQL, whose commits reach the disk, and Redis.
pub struct Servers {
    pub postgres: Postgres,
    pub redis: Redis,
}

impl Servers {
    pub fn start() -> Self {
        tokio::task::block_in_place(|| Self {
            postgres: Postgres::durable(),
            redis: Redis::start(),
        })
    }
}

/// A new file in that directory.
pub fn sqlite_url(directory: &Path) -> String {
    let name = uuid::Uuid::new_v4();
    format!(
        "sqlite://{}?mode=rwc",
        directory.join(format!("{name}.sqlite")).display()
    )
}

/// An api process alone, on an empty database.
pub struct Api {
    pub process: Process,
    pub address: SocketAddr,
    pub key: String,
}

impl Api {
    pub async fn start(database: &str) -> Outcome<Self> {
        Self::with(database, &[("DATABASE_URL", database.to_owned())]).await
    }

    async fn with(database: &str, settings: &[(&'static str, String)]) -> Outcome<Self> {
        let ledger = fresh_ledger(database, 1).await?;
        let key = api_key(&ledger).await?;
        let url = format!("http://127.0.0.1:{}", port::free());
        let address = web::address(&url)?;
        let mut process = tender(&["api"])
            .envs(settings.iter().cloned())
            .env("HTTP_BIND", address.to_string())
            // The limit protects a service from its callers, and is not what is measured.
            .env("HTTP_RATE_LIMIT_PER_SECOND", "1000000")
            .start();
        tokio::task::block_in_place(|| process.wait_ready(&format!("{url}/livez")));
        Ok(Self {
            process,
            address,
            key,
        })
    }
}

async fn api_key(ledger: &Ledger) -> Outcome<String> {
    let issued = keys::create(ledger, &TENANT.parse()?, "bench", &Scope::ALL).await?;
    Ok(issued.token.expose_secret().to_owned())
}

/// Something that pays: where to ask it, and where to look at what it did.
pub struct Payer {
    pub api: SocketAddr,
    pub key: String,
    pub payees: Vec<AccountId>,
    pub ledger: Ledger,
    pub rpc: Rpc,
}

impl Payer {
    /// Creates the payees, too.
    pub async fn new(
        (api, key): (SocketAddr, &str),
        ledger: Ledger,
        rpc_url: &str,
        passphrase: &str,
    ) -> Outcome<Self> {
        let rpc = rpc(rpc_url, passphrase)?;
        let payees: Vec<_> = (0..PAYEES).map(|_| fresh_account()).collect();
        let funding = payees.iter().map(|payee| fund(rpc_url, *payee));
        futures::future::try_join_all(funding).await?;
        Ok(Self {
            api,
            key: key.to_owned(),
            payees,
            ledger,
            rpc,
        })
    }
}

fn rpc(url: &str, passphrase: &str) -> Outcome<Rpc> {
    let network = NetworkId::new(passphrase);
    Ok(Rpc::new(
        network,
        &[url.to_owned()],
        RPC_TIMEOUT,
        RPC_TIMEOUT,
    )?)
}

/// Asks the friendbot, which waits for the ledger.
async fn fund(rpc_url: &str, account: AccountId) -> Outcome<()> {
    let mut connection = Connection::open(web::address(rpc_url)?).await?;
    let answer = connection
        .ask(&web::get(&format!("/friendbot?addr={account}")))
        .await?;
    if answer.status == 200 {
        return Ok(());
    }
    Err(format!("friendbot: {}", String::from_utf8_lossy(&answer.body)).into())
}

/// One api, two workers and one reconciler on an empty database, over a network within this process.
pub struct Deployment {
    pub payer: Payer,
    pub node: DevNode,
    pub processes: Vec<(&'static str, Process)>,
    pub database: String,
    _serving: DropGuard,
}

impl Deployment {
    pub async fn start(servers: &Servers, channels: usize) -> Outcome<Self> {
        Self::seeing(servers, channels, async |_, url| Ok(url.to_owned())).await
    }

    /// The same, with processes that see the network as they are told to: `nodes` makes the URLs of their nodes from
    /// the network and the URL of its own.
    pub async fn seeing(
        servers: &Servers,
        channels: usize,
        nodes: impl AsyncFnOnce(&DevNode, &str) -> Outcome<String>,
    ) -> Outcome<Self> {
        servers.redis.flushall();
        let stop = CancellationToken::new();
        let node = DevNode::start(NetworkConfig::development(PASSPHRASE), Pace::Every(CLOSE));
        let rpc_url = serve(FrontEnd::new(node.clone()), &stop).await?;
        let seed: [u8; 32] = rand::random();
        let treasury = tender::stellar::signer::Signer::from_seed(&seed).account();
        node.fund(&treasury.to_string()).await?;
        let database = servers.postgres.create_database();
        let settings = [
            ("DATABASE_URL", database.clone()),
            ("REDIS_URL", servers.redis.url()),
            ("STELLAR_RPC_URLS", nodes(&node, &rpc_url).await?),
            ("STELLAR_NETWORK_PASSPHRASE", PASSPHRASE.to_owned()),
            ("STELLAR_LEDGER_CLOSE_MS", CLOSE.as_millis().to_string()),
            ("STELLAR_TREASURY_SECRET", secret(seed)),
            (
                "STELLAR_CHANNEL_SEED",
                hex::encode(rand::random::<[u8; 32]>()),
            ),
            ("STELLAR_CHANNEL_COUNT", channels.to_string()),
        ];
        let api = Api::with(&database, &settings).await?;
        let provision = tender(&["channels", "provision"]).envs(settings.iter().cloned());
        tokio::task::block_in_place(|| provision.run().success());
        let mut processes = vec![("api", api.process)];
        for (name, role) in [
            ("worker 1", "worker"),
            ("worker 2", "worker"),
            ("reconciler", "reconciler"),
        ] {
            let process = tender(&[role]).envs(settings.iter().cloned()).start();
            tokio::task::block_in_place(|| process.wait_for_line(&format!("{role} is ready")));
            processes.push((name, process));
        }
        let ledger = Ledger::connect(&database, CONNECTIONS, crate::work::rules()).await?;
        let payer = Payer::new((api.address, &api.key), ledger, &rpc_url, PASSPHRASE).await?;
        Ok(Self {
            payer,
            node,
            processes,
            database,
            _serving: stop.drop_guard(),
        })
    }
}

/// Serves that view of the network until it is stopped; the URL of it.
pub async fn serve(front: FrontEnd, stop: &CancellationToken) -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let stopped = stop.clone().cancelled_owned();
    tokio::spawn(async move {
        if let Err(error) = tender_devnet::rpc::serve_front(front, listener, stopped).await {
            eprintln!("the simulated network failed: {error}");
        }
    });
    Ok(url)
}

fn secret(seed: [u8; 32]) -> String {
    format!("{}", stellar_strkey::ed25519::PrivateKey(seed))
}
