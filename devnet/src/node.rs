//! A running node: a network whose ledgers close on a timer or by hand, shared by everybody who talks to it.

use crate::config::NetworkConfig;
use crate::faults::{self, Call, Decision, FaultPlan, FaultReport, Weather};
use crate::friendbot::Desk;
use crate::network::Network;
pub use crate::pace::Pace;
use crate::rpc::{self, Method, RpcError, Surroundings};
use crate::store::{StateError, StateFile, with_initial_state};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// A closed ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latest {
    /// Its sequence.
    pub sequence: u32,
    /// Its close time, in unix seconds.
    pub close_time: u64,
}

/// A handle to a node; clones are the same node. It stops when it is shut down or the last handle is dropped.
#[derive(Clone, Debug)]
pub struct DevNode {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    pace: Pace,
    chain: Mutex<Chain>,
    latest: watch::Sender<Latest>,
    calls: Mutex<BTreeMap<Method, u64>>,
    faults: Mutex<FaultPlan>,
    desk: Mutex<Desk>,
    stopped: watch::Sender<bool>,
    timer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Chain {
    network: Network,
    closed_at: Instant,
    weather: Weather,
    file: Option<StateFile>,
}

impl DevNode {
    /// Starts a node. Without an initial state of its own, the network has a root and a friendbot account with half of
    /// all lumens each.
    ///
    /// # Panics
    /// With a timer, outside of a Tokio runtime.
    #[must_use]
    pub fn start(config: NetworkConfig, pace: Pace) -> Self {
        Self::run(Network::new(with_initial_state(config)), None, pace)
    }

    /// Starts a node whose chain is kept in a file: with the ledgers that are there already, or with a new chain if there
    /// is no such file. When and where a chain that is there started is read from it; everything else must be as
    /// configured. A node that can no longer write its file closes no more ledgers and stops.
    ///
    /// # Errors
    /// The file cannot be used, another process uses it, or it is of another network.
    ///
    /// # Panics
    /// With a timer, outside of a Tokio runtime.
    pub fn open(config: NetworkConfig, pace: Pace, path: &Path) -> Result<Self, StateError> {
        let (network, file) = StateFile::open(path, config)?;
        Ok(Self::run(network, Some(file), pace))
    }

    fn run(network: Network, file: Option<StateFile>, pace: Pace) -> Self {
        let node = Self {
            shared: Arc::new(Shared {
                pace,
                latest: watch::Sender::new(latest_of(&network)),
                chain: Mutex::new(Chain {
                    network,
                    closed_at: Instant::now(),
                    weather: Weather::default(),
                    file,
                }),
                calls: Mutex::default(),
                faults: Mutex::default(),
                desk: Mutex::default(),
                stopped: watch::Sender::new(false),
                timer: Mutex::default(),
            }),
        };
        if let Pace::Every(interval) = pace {
            let stopped = node.shared.stopped.subscribe();
            let timer = tokio::spawn(run(Arc::downgrade(&node.shared), interval, stopped));
            *lock(&node.shared.timer) = Some(timer);
        }
        node
    }

    /// Closes the next ledger now; in a stall none, and the last one is told again.
    #[expect(clippy::must_use_candidate, reason = "closing it is the point")]
    pub fn close_ledger(&self) -> Latest {
        let pace = self.shared.pace;
        self.close(|last, weather| {
            pace.close_time(last, unix_now(), weather.skew(), weather.skew_step())
        })
    }

    /// Closes the next ledger at a time in unix seconds, or one second after the last one if that is later. Faults apply
    /// as with [`DevNode::close_ledger`].
    #[expect(clippy::must_use_candidate, reason = "closing it is the point")]
    pub fn close_ledger_at(&self, close_time: u64) -> Latest {
        self.close(|_, weather| close_time.saturating_add_signed(weather.skew()))
    }

    fn close(&self, time: impl FnOnce(u64, &Weather) -> u64) -> Latest {
        let mut chain = lock(&self.shared.chain);
        let chain = &mut *chain;
        if chain.file.as_ref().is_some_and(StateFile::is_broken) {
            return latest_of(&chain.network);
        }
        if !chain.weather.is_stalled() {
            let faults = lock(&self.shared.faults).decide_close();
            for fault in faults {
                chain.weather.add(fault);
            }
        }
        if chain.weather.stalls() {
            return latest_of(&chain.network);
        }
        let close_time = time(chain.network.latest_close_time(), &chain.weather);
        let conditions = chain.weather.conditions();
        let closed = chain.network.close_under(close_time, &[], conditions);
        if let Some(file) = &mut chain.file
            && let Err(error) = file.append(closed)
        {
            tracing::error!(%error, "a ledger could not be kept: no more are closed");
            self.shared.stopped.send_replace(true);
        }
        if let Some(floor) = chain.weather.ledger_closed() {
            chain.network.set_floor(floor);
        }
        chain.closed_at = Instant::now();
        let latest = latest_of(&chain.network);
        // Still under the lock, so that watchers see ledgers in order.
        self.shared.latest.send_replace(latest);
        latest
    }

    /// The last closed ledger, and a signal of each next one.
    #[must_use]
    pub fn latest(&self) -> watch::Receiver<Latest> {
        self.shared.latest.subscribe()
    }

    /// Looks at the network, for instance at all its ledgers; nothing happens in it meanwhile.
    pub fn inspect<T>(&self, look: impl FnOnce(&Network) -> T) -> T {
        look(&lock(&self.shared.chain).network)
    }

    /// Changes the network with its clock up to date.
    pub(crate) fn with_network<T>(&self, change: impl FnOnce(&mut Network) -> T) -> T {
        self.with_chain(|chain| change(&mut chain.network))
    }

    fn with_chain<T>(&self, change: impl FnOnce(&mut Chain) -> T) -> T {
        let mut chain = lock(&self.shared.chain);
        let last = chain.network.latest_close_time();
        let now = unix_now().saturating_add_signed(chain.weather.skew());
        let drift = self.shared.pace.drift(last, now);
        chain.network.set_drift(drift);
        change(&mut chain)
    }

    /// Answers a JSON-RPC call without HTTP; injected faults do not apply.
    ///
    /// # Errors
    /// As the method says, or there is no such method.
    pub fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let method = Method::named(method).ok_or_else(|| RpcError::method_not_found(method))?;
        self.count(method);
        self.answer(method, params, Surroundings::default())
    }

    /// Answers a call that is counted already.
    pub(crate) fn answer(
        &self,
        method: Method,
        params: Value,
        surroundings: Surroundings,
    ) -> Result<Value, RpcError> {
        self.with_chain(|chain| {
            let surroundings = Surroundings {
                since_close: chain.closed_at.elapsed(),
                ..surroundings
            };
            rpc::call(&mut chain.network, &surroundings, method, params)
        })
    }

    pub(crate) fn count(&self, method: Method) {
        *lock(&self.shared.calls).entry(method).or_default() += 1;
    }

    /// Calls received so far by method name, those whose answers were lost included.
    #[must_use]
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.shared.calls)
            .iter()
            .map(|(method, count)| (method.name(), *count))
            .collect()
    }

    /// Follows a plan of faults from now on. What the plan before did is forgotten, and what it let go on for several
    /// ledgers ends; envelopes that another node holds stay there.
    pub fn set_faults(&self, plan: FaultPlan) {
        let mut chain = lock(&self.shared.chain);
        chain.weather.clear();
        *lock(&self.shared.faults) = plan;
    }

    /// What the plan of faults did so far.
    #[must_use]
    pub fn faults(&self) -> FaultReport {
        lock(&self.shared.faults).report().clone()
    }

    /// What the plan of faults did so far, with its rules, for people.
    #[must_use]
    pub(crate) fn faults_json(&self) -> Value {
        faults::report_json(&lock(&self.shared.faults))
    }

    /// Whether calls of that method can go wrong at all.
    pub(crate) fn faults_concern(&self, method: Method) -> bool {
        lock(&self.shared.faults).concerns(method)
    }

    /// Asks the plan of faults about a call that arrived.
    pub(crate) fn decide_faults(&self, call: Call<'_>) -> Vec<Decision> {
        lock(&self.shared.faults).decide_all(call)
    }

    /// The friendbot's queue.
    pub(crate) fn desk(&self) -> MutexGuard<'_, Desk> {
        lock(&self.shared.desk)
    }

    /// Resolves when the node is shut down, or stops because it cannot keep its chain.
    pub async fn stopped(&self) {
        // An error means that the sender is gone, which it cannot be while `self` lives; it would mean the same.
        let _ = self.shared.stopped.subscribe().wait_for(|stop| *stop).await;
    }

    /// Stops closing ledgers and lets waiting requests go. What is in the network can still be read.
    pub async fn shutdown(&self) {
        self.shared.stopped.send_replace(true);
        let timer = lock(&self.shared.timer).take();
        if let Some(timer) = timer
            && let Err(error) = timer.await
        {
            tracing::error!(%error, "the ledger timer failed");
        }
    }
}

/// Closes ledgers until the node is shut down or nobody holds it any more.
async fn run(shared: Weak<Shared>, interval: Duration, mut stopped: watch::Receiver<bool>) {
    let interval = interval.max(Duration::from_millis(1));
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopped.wait_for(|stop| *stop) => return,
        }
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let node = DevNode { shared };
        // Closing a full ledger takes a while, which the threads that serve requests have not.
        let closing = tokio::task::spawn_blocking(move || node.close_ledger());
        match closing.await {
            Ok(latest) => tracing::debug!(sequence = latest.sequence, "ledger closed"),
            Err(error) => {
                tracing::error!(%error, "a ledger could not be closed");
                return;
            }
        }
    }
}

fn latest_of(network: &Network) -> Latest {
    Latest {
        sequence: network.latest_ledger(),
        close_time: network.latest_close_time(),
    }
}

fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// A panic elsewhere must not take the whole node down; what it left is consistent enough to read.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
