//! What each role needs, and nothing else.

use super::reader::{Effective, Reader};
use super::source::{self, Source};
use super::{
    Database, Faults, Fees, Http, Log, Network, Queue, Redis, Relay, Rpc, Signers, SigningSecret,
    Submit, TreasuryName, probe, signers, unknown,
};
use std::net::SocketAddr;
use std::time::Duration;

/// A way of running the program, as far as its settings go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Takes requests.
    Api,
    /// Builds, records and sends.
    Worker,
    /// Settles what was sent.
    Reconciler,
    /// Creates and checks channel accounts.
    Channels,
    /// Migrations, API keys and staff commands, which need the database alone.
    Store,
    /// The embedded stack.
    Dev,
    /// All of the above: a configuration that serves every process of a deployment.
    All,
}

/// What `tender api` needs: no signing key.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// The ledger.
    pub database: Database,
    /// For waking workers; without it they find new work a little later.
    pub redis: Option<Redis>,
    /// For readiness, which does not look at the network without it.
    pub rpc: Option<Rpc>,
    /// The network's target time between two ledgers, to tell how far a node lags.
    pub ledger_close: Duration,
    /// The HTTP service.
    pub http: Http,
    /// For estimates.
    pub fees: Fees,
    /// Bounds of the queue.
    pub queue: Queue,
    /// The log.
    pub log: Log,
}

/// What `tender worker` needs.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// The ledger.
    pub database: Database,
    /// The queue's Redis.
    pub redis: Redis,
    /// The nodes.
    pub rpc: Rpc,
    /// The network.
    pub network: Network,
    /// The keys.
    pub signers: Signers,
    /// Limits of submitting.
    pub submit: Submit,
    /// Bounds of fees.
    pub fees: Fees,
    /// Bounds of the queue.
    pub queue: Queue,
    /// Bounds of the relay.
    pub relay: Relay,
    /// Where probes are answered, if anywhere.
    pub probes: Option<SocketAddr>,
    /// The log.
    pub log: Log,
}

/// What `tender reconciler` needs: of the keys only the fee source's, to raise fees. The treasury's address is enough.
#[derive(Clone, Debug)]
pub struct ReconcilerConfig {
    /// The ledger.
    pub database: Database,
    /// The queue's Redis.
    pub redis: Redis,
    /// The nodes.
    pub rpc: Rpc,
    /// The network.
    pub network: Network,
    /// The account that payments come from.
    pub treasury: TreasuryName,
    /// Key of the account that pays for fee-bumps.
    pub fee_source: SigningSecret,
    /// Limits of submitting.
    pub submit: Submit,
    /// Bounds of fees.
    pub fees: Fees,
    /// Bounds of the queue.
    pub queue: Queue,
    /// Where probes are answered, if anywhere.
    pub probes: Option<SocketAddr>,
    /// The log.
    pub log: Log,
}

/// What `tender channels` needs.
#[derive(Clone, Debug)]
pub struct ChannelsConfig {
    /// The ledger.
    pub database: Database,
    /// The nodes.
    pub rpc: Rpc,
    /// The network.
    pub network: Network,
    /// The keys.
    pub signers: Signers,
    /// Bounds of fees.
    pub fees: Fees,
    /// The log.
    pub log: Log,
}

/// What commands need that touch the ledger alone.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// The ledger.
    pub database: Database,
    /// The log.
    pub log: Log,
}

/// What the embedded stack needs. It brings its own database, queue, network and keys, and never reads those of a real deployment.
#[derive(Clone, Debug)]
pub struct EmbeddedConfig {
    /// The HTTP service.
    pub http: Http,
    /// Limits of submitting.
    pub submit: Submit,
    /// Bounds of fees.
    pub fees: Fees,
    /// Bounds of the queue.
    pub queue: Queue,
    /// Bounds of the relay.
    pub relay: Relay,
    /// The log.
    pub log: Log,
}

/// Reads one role's settings.
trait Section: Sized {
    fn parse(r: &mut Reader) -> Option<Self>;
}

macro_rules! loads {
    ($($config:ty),+) => {$(
        impl $config {
            /// Reads the settings of this role.
            ///
            /// # Errors
            /// Everything that is wrong with them, settings nobody reads included.
            pub fn load(source: &Source) -> Result<Self, Faults> {
                load(source, <Self as Section>::parse).map(|(config, _)| config)
            }
        }
    )+};
}
loads!(
    ApiConfig,
    WorkerConfig,
    ReconcilerConfig,
    ChannelsConfig,
    StoreConfig
);

impl EmbeddedConfig {
    /// Reads the settings of the embedded stack, whose network closes a ledger every `ledger_close`.
    ///
    /// # Errors
    /// Everything that is wrong with them, settings nobody reads included.
    pub fn load(source: &Source, ledger_close: Duration) -> Result<Self, Faults> {
        load(source, |r| Self::parse(r, ledger_close)).map(|(config, _)| config)
    }

    fn parse(r: &mut Reader, ledger_close: Duration) -> Option<Self> {
        let http = Http::parse(r);
        let submit = Submit::parse(r, Some(ledger_close));
        let (fees, queue, log) = (Fees::parse(r), Queue::parse(r), Log::parse(r));
        let relay = Relay::parse(r);
        Some(Self {
            http: http?,
            submit: submit?,
            fees: fees?,
            queue: queue?,
            relay: relay?,
            log: log?,
        })
    }
}

/// Reads the settings of a role and says what they come to, secrets hidden.
///
/// # Errors
/// Everything that is wrong with them, settings nobody reads included.
pub fn check(source: &Source, role: Role) -> Result<Vec<Effective>, Faults> {
    load(source, |r| parse_role(r, role)).map(|((), effective)| effective)
}

fn parse_role(r: &mut Reader, role: Role) -> Option<()> {
    match role {
        Role::Api => ApiConfig::parse(r).map(drop),
        Role::Worker => WorkerConfig::parse(r).map(drop),
        Role::Reconciler => ReconcilerConfig::parse(r).map(drop),
        Role::Channels => ChannelsConfig::parse(r).map(drop),
        Role::Store => StoreConfig::parse(r).map(drop),
        Role::Dev => EmbeddedConfig::parse(r, Duration::from_secs(1)).map(drop),
        Role::All => {
            let worker = WorkerConfig::parse(r);
            let reconciler = ReconcilerConfig::parse(r);
            let api = ApiConfig::parse(r);
            worker
                .map(drop)
                .and(reconciler.map(drop))
                .and(api.map(drop))
        }
    }
}

fn load<T>(
    source: &Source,
    parse: impl FnOnce(&mut Reader) -> Option<T>,
) -> Result<(T, Vec<Effective>), Faults> {
    let lookup = |name: &str| source.lookup(name);
    let mut reader = Reader::new(&lookup, &source::open_secret);
    let value = parse(&mut reader);
    let unknown = source.names().filter_map(unknown::check);
    for fault in source.faults().iter().cloned().chain(unknown) {
        reader.push_fault(fault);
    }
    reader.finish(value)
}

/// Names of the settings a role reads.
pub(super) fn settings_read(role: Role) -> Vec<&'static str> {
    let mut reader = Reader::new(&|_| None, &source::open_secret);
    let _ = parse_role(&mut reader, role);
    reader.names_read()
}

impl Section for ApiConfig {
    fn parse(r: &mut Reader) -> Option<Self> {
        let database = Database::parse(r);
        let (redis, rpc) = (Redis::parse_optional(r), Rpc::parse_optional(r));
        let ledger_close = Rpc::ledger_close(r);
        let (http, fees) = (Http::parse(r), Fees::parse(r));
        let (queue, log) = (Queue::parse(r), Log::parse(r));
        Some(Self {
            database: database?,
            redis,
            rpc,
            ledger_close: ledger_close?,
            http: http?,
            fees: fees?,
            queue: queue?,
            log: log?,
        })
    }
}

impl Section for WorkerConfig {
    fn parse(r: &mut Reader) -> Option<Self> {
        let (database, redis) = (Database::parse(r), Redis::parse(r));
        let (rpc, network, signers) = (Rpc::parse(r), Network::parse(r), Signers::parse(r));
        let submit = submit(r, rpc.as_ref(), network.as_ref());
        let (fees, queue, log) = (Fees::parse(r), Queue::parse(r), Log::parse(r));
        let relay = Relay::parse(r);
        let probes = probe::bind(r);
        Some(Self {
            database: database?,
            redis: redis?,
            rpc: rpc?,
            network: network?,
            signers: signers?,
            submit: submit?,
            fees: fees?,
            queue: queue?,
            relay: relay?,
            probes,
            log: log?,
        })
    }
}

impl Section for ReconcilerConfig {
    fn parse(r: &mut Reader) -> Option<Self> {
        let (database, redis) = (Database::parse(r), Redis::parse(r));
        let (rpc, network) = (Rpc::parse(r), Network::parse(r));
        let treasury = signers::treasury_name(r);
        let fee_source = signers::fee_source(r);
        let submit = submit(r, rpc.as_ref(), network.as_ref());
        let (fees, queue, log) = (Fees::parse(r), Queue::parse(r), Log::parse(r));
        let probes = probe::bind(r);
        Some(Self {
            database: database?,
            redis: redis?,
            rpc: rpc?,
            network: network?,
            treasury: treasury?,
            fee_source: fee_source?,
            submit: submit?,
            fees: fees?,
            queue: queue?,
            probes,
            log: log?,
        })
    }
}

impl Section for ChannelsConfig {
    fn parse(r: &mut Reader) -> Option<Self> {
        let database = Database::parse(r);
        let (rpc, network, signers) = (Rpc::parse(r), Network::parse(r), Signers::parse(r));
        let (fees, log) = (Fees::parse(r), Log::parse(r));
        Some(Self {
            database: database?,
            rpc: rpc?,
            network: network?,
            signers: signers?,
            fees: fees?,
            log: log?,
        })
    }
}

impl Section for StoreConfig {
    fn parse(r: &mut Reader) -> Option<Self> {
        let (database, log) = (Database::parse(r), Log::parse(r));
        Some(Self {
            database: database?,
            log: log?,
        })
    }
}

fn submit(r: &mut Reader, rpc: Option<&Rpc>, network: Option<&Network>) -> Option<Submit> {
    let submit = Submit::parse(r, network.map(|n| n.ledger_close));
    if let (Some(rpc), Some(submit)) = (rpc, &submit) {
        rpc.check_against_window(r, submit.window);
    }
    submit
}
