//! A deployment: PostgreSQL, Redis, a network, a funded pool, API keys, and as many processes as a test wants.

use std::{collections::BTreeMap, net::Ipv4Addr, time::Duration};

use stellar_strkey::ed25519::PrivateKey;
use tender::{
    app::staff_rules, domain::ids::AccountId, domain::submission::Status, ledger::Ledger,
    stellar::signer::Signer,
};
use tender_devnet::{
    config::NetworkConfig,
    node::{DevNode, Pace},
    rpc,
};
use tokio::{net::TcpListener, task::block_in_place};

use crate::{
    audit::{Audit, Figures},
    client::{Client, Load, Payment},
    ledgers::Ledgers,
    support::{
        self,
        postgres::Postgres,
        process::{Launch, Process, tender},
        proxy::Proxy,
        redis::Redis,
    },
    waiting::{until, when},
};

pub const TENANT: &str = "acme";
pub const PASSPHRASE: &str = "Tender processes test network";
/// Ledgers close this often, and each is a second of the network's time.
pub const CLOSE: Duration = Duration::from_millis(250);
/// Accounts that get paid.
const PAYEES: usize = 8;

/// Everything the processes share.
pub struct Deployment {
    pub node: DevNode,
    pub ledgers: Ledgers,
    pub postgres: Postgres,
    pub redis: Redis,
    pub database: String,
    pub treasury: Signer,
    pub payees: Vec<AccountId>,
    /// A handle of the test's own on the database, to look at rows.
    pub ledger: Ledger,
    /// Secrets of the channel accounts.
    pub channel_seed: String,
    pub token: String,
    pub settings: BTreeMap<&'static str, String>,
}

/// An API process and where it listens.
pub struct Api {
    pub process: Process,
    pub url: String,
}

impl Deployment {
    /// Servers, network and pool, with `channels` channel accounts; no process runs yet.
    pub async fn start(channels: u32) -> Self {
        Self::start_with(channels, &[]).await
    }

    /// The same, with these settings beside the usual ones.
    pub async fn start_with(channels: u32, others: &[(&'static str, &str)]) -> Self {
        let mut deployment = Self::bare(channels, others).await;
        deployment.command(&["migrate", "up"]);
        deployment.command(&["channels", "provision"]);
        let scopes = "transactions:write,transactions:read,outbox:write,outbox:read";
        let keys = ["keys", "create", "--tenant", TENANT, "--scopes", scopes];
        deployment.token = deployment.command(&keys).pop().expect("a key is printed");
        deployment
    }

    /// Servers and network, and a database without tables.
    pub async fn bare(channels: u32, others: &[(&'static str, &str)]) -> Self {
        let (postgres, redis) = block_in_place(support::servers);
        let database = postgres.create_database();
        let node = DevNode::start(NetworkConfig::development(PASSPHRASE), Pace::ByHand);
        let ledgers = Ledgers::closing(node.clone(), CLOSE);
        let rpc_url = serve(&node).await;
        let seed: [u8; 32] = rand::random();
        let treasury = Signer::from_seed(&seed);
        let payees: Vec<_> = (0..PAYEES)
            .map(|_| Signer::from_seed(&rand::random()).account())
            .collect();
        fund(&node, payees.iter().copied().chain([treasury.account()])).await;
        let channel_seed = hex::encode(rand::random::<[u8; 32]>());
        let mut settings = BTreeMap::from([
            ("DATABASE_URL", database.clone()),
            ("REDIS_URL", redis.url()),
            ("STELLAR_RPC_URLS", rpc_url),
            ("STELLAR_NETWORK_PASSPHRASE", PASSPHRASE.to_owned()),
            ("STELLAR_LEDGER_CLOSE_MS", CLOSE.as_millis().to_string()),
            (
                "STELLAR_TREASURY_SECRET",
                PrivateKey(seed).to_string().as_str().to_owned(),
            ),
            ("STELLAR_CHANNEL_SEED", channel_seed.clone()),
            ("STELLAR_CHANNEL_COUNT", channels.to_string()),
            // A minute of the network's time.
            ("TX_CONFIRMATION_TIMEOUT_MS", "60000".to_owned()),
            ("RECONCILER_INTERVAL_MS", "250".to_owned()),
            ("OUTBOX_BACKOFF_BASE_MS", "200".to_owned()),
            ("OUTBOX_BACKOFF_MAX_MS", "2000".to_owned()),
            ("HTTP_BIND", "127.0.0.1:0".to_owned()),
            ("HTTP_RATE_LIMIT_PER_SECOND", "100000".to_owned()),
        ]);
        settings.extend(
            others
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        );
        Self {
            ledger: Ledger::connect(&database, 4, staff_rules()).await.unwrap(),
            node,
            ledgers,
            postgres,
            redis,
            database,
            treasury,
            payees,
            channel_seed,
            token: String::new(),
            settings,
        }
    }

    /// Puts a proxy between the processes and Redis. For those that start from now on.
    pub async fn proxy_redis(&mut self) -> Proxy {
        let proxy = Proxy::to((Ipv4Addr::LOCALHOST, self.redis.port()).into()).await;
        let url = format!("redis://{}/", proxy.address());
        self.settings.insert("REDIS_URL", url);
        proxy
    }

    /// Puts a proxy between the processes and PostgreSQL. For those that start from now on.
    pub async fn proxy_postgres(&mut self) -> Proxy {
        let port = self.postgres.port();
        let proxy = Proxy::to((Ipv4Addr::LOCALHOST, port).into()).await;
        let (from, to) = (format!("127.0.0.1:{port}"), proxy.address().to_string());
        let url = self.database.replace(&from, &to);
        self.settings.insert("DATABASE_URL", url);
        proxy
    }

    /// Puts a proxy between the processes and the network. For those that start from now on.
    pub async fn proxy_network(&mut self) -> Proxy {
        let node = self.rpc_url().trim_start_matches("http://");
        let proxy = Proxy::to(node.parse().unwrap()).await;
        let url = format!("http://{}", proxy.address());
        self.settings.insert("STELLAR_RPC_URLS", url);
        proxy
    }

    /// Where processes find the network's JSON-RPC.
    pub fn rpc_url(&self) -> &str {
        &self.settings["STELLAR_RPC_URLS"]
    }

    /// A command line with the deployment's settings.
    pub fn launch(&self, args: &[&str]) -> Launch {
        let settings = self.settings.iter();
        tender(args).envs(settings.map(|(name, value)| (*name, value.clone())))
    }

    /// Another handle of the test's own on the database, which has seen nothing of it before.
    pub async fn another_ledger(&self) -> Ledger {
        Ledger::connect(&self.database, 4, staff_rules())
            .await
            .unwrap()
    }

    /// Runs a command that must succeed; its standard output.
    pub fn command(&self, args: &[&str]) -> Vec<String> {
        block_in_place(|| self.launch(args).run().success().stdout)
    }

    /// Starts an API process and waits until it listens.
    pub fn api(&self) -> Api {
        let process = self.launch(&["api"]).start();
        let line = block_in_place(|| process.wait_for_line("API is listening"));
        let line: serde_json::Value = serde_json::from_str(&line).expect("a line of JSON");
        let address = line["address"].as_str().expect("an address");
        Api {
            url: format!("http://{address}"),
            process,
        }
    }

    /// Starts `count` worker processes and waits until they are ready.
    pub fn workers(&self, count: usize) -> Vec<Process> {
        self.roles("worker", count)
    }

    /// Starts `count` reconciler processes and waits until they are ready.
    pub fn reconcilers(&self, count: usize) -> Vec<Process> {
        self.roles("reconciler", count)
    }

    fn roles(&self, role: &str, count: usize) -> Vec<Process> {
        let processes: Vec<_> = (0..count).map(|_| self.launch(&[role]).start()).collect();
        for process in &processes {
            block_in_place(|| process.wait_for_line(&format!("{role} is ready")));
        }
        processes
    }

    /// A client with every scope of the tenant's and the staff's.
    pub fn client(&self, api: &Api) -> Client {
        Client::new(&api.url, &self.token)
    }

    pub fn payment(&self, number: u32) -> Payment {
        let to = self.payees[number as usize % self.payees.len()];
        Payment { number, to }
    }

    pub fn payments(&self, numbers: std::ops::Range<u32>) -> Vec<Payment> {
        numbers.map(|number| self.payment(number)).collect()
    }

    /// The payments, each pushed `times` times, by `clients` clients at once.
    pub fn load(&self, api: &Api, payments: Vec<Payment>, times: usize, clients: usize) -> Load {
        Load {
            clients: (0..clients).map(|_| self.client(api)).collect(),
            payments,
            times,
        }
    }

    /// Rows by status, as far as the database answers.
    pub async fn counts(&self) -> Option<BTreeMap<&'static str, u64>> {
        let mut counts = BTreeMap::new();
        for (status, _, count) in self.ledger.counts().await.ok()? {
            *counts.entry(status.as_str()).or_default() += count;
        }
        Some(counts)
    }

    /// Waits until that many rows are confirmed. The test fails with the counts when it takes too long.
    pub async fn confirmed(&self, rows: u64, patience: Duration) {
        until("confirmed rows", patience, async || {
            let counts = self.counts().await.unwrap_or_default();
            let confirmed = counts.get(Status::Confirmed.as_str()).copied();
            when(confirmed.unwrap_or(0) >= rows, (rows, counts))
        })
        .await;
    }

    pub fn audit(&self) -> Audit {
        Audit::of(&self.node, self.treasury.account())
    }

    /// What the chain says of these payments.
    pub fn figures(&self, payments: &[Payment]) -> Figures {
        let expected: Vec<_> = payments.iter().map(|one| one.expected()).collect();
        self.audit().compare(&expected)
    }

    /// The promise, after everything was confirmed: `payments` took effect once each, the rows say so, and every
    /// channel account is back in the pool.
    pub async fn assert_paid_once(&self, payments: &[Payment]) -> Figures {
        let figures = self.figures(payments);
        figures.assert_each_once();
        let rows = u64::try_from(payments.len()).unwrap();
        let counts = self.counts().await.expect("the database answers");
        assert_eq!(counts, BTreeMap::from([("confirmed", rows)]));
        let pool = self.ledger.pool().await.unwrap();
        assert_eq!((pool.leased, pool.quarantined), (0, 0), "{pool:?}");
        figures
    }

    /// One row and all that is known of it, as the database has it.
    pub fn print_rows(&self, when: &str, id: &str) {
        println!("--- {when}");
        for (table, columns, by) in [
            (
                "submission_ledger",
                "status, verdict, version, pair_held, sequence, send_state, attempt_count, left(tx_hash, 12)",
                "id",
            ),
            (
                "submission_attempts",
                "id, sequence, left(hash, 12), max_time, settled",
                "submission_id",
            ),
            (
                "submission_log",
                "version, event, from_status, to_status, actor",
                "submission_id",
            ),
        ] {
            let sql = format!("SELECT {columns} FROM {table} WHERE {by} = '{id}' ORDER BY 1");
            for row in self.postgres.psql(&self.database, &sql).lines() {
                println!("  {table:<20} {row}");
            }
        }
    }
}

async fn serve(node: &DevNode) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(rpc::serve(node.clone(), listener, std::future::pending()));
    url
}

/// Lets the friendbot create accounts, all at once.
pub async fn fund(node: &DevNode, accounts: impl IntoIterator<Item = AccountId>) {
    let funded = accounts.into_iter().map(|account| {
        let node = node.clone();
        async move { node.fund(&account.to_string()).await }
    });
    for funded in futures::future::join_all(funded).await {
        funded.expect("the friendbot funds it");
    }
}
