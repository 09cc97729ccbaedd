//! The stage: settings that every process gets, processes that die on it, and what was counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tender::failpoint::LAST_WORDS;
use tender::ledger::Ledger;
use tokio::runtime::Handle;

use crate::client::Client;
use crate::deployment::Deployment;
use crate::load::Accepted;
use crate::support::process::{Launch, Process, tender};

/// How long a process may take to reach the point it is to die at, in a situation made for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Settings beside those of every deployment: short waits, and budgets that no number of kills uses up.
pub fn settings(bind: &str) -> [(&'static str, &str); 8] {
    [
        ("HTTP_BIND", bind),
        ("STELLAR_RPC_TIMEOUT_MS", "2000"),
        ("STELLAR_RPC_READ_TIMEOUT_MS", "2000"),
        ("TX_CONFIRMATION_TIMEOUT_MS", "30000"),
        ("TX_MAX_TRANSIENT_RETRIES", "1000"),
        ("TX_MAX_CLAIMS", "10000"),
        ("OUTBOX_BACKOFF_BASE_MS", "100"),
        ("OUTBOX_BACKOFF_MAX_MS", "1000"),
    ]
}

/// What every part of a run shares.
pub struct Stage {
    pub settings: BTreeMap<&'static str, String>,
    pub seed: u64,
    pub runtime: Handle,
    pub ledger: Ledger,
    pub accepted: Accepted,
    url: String,
    token: String,
    began: Instant,
    kills: Kills,
    faults: AtomicU64,
    coverage: Mutex<BTreeMap<String, u64>>,
    violations: Mutex<Vec<String>>,
}

/// Kills so far.
#[derive(Debug, Default)]
pub struct Kills {
    pub at_failpoints: AtomicU64,
    pub of_processes: AtomicU64,
    pub of_postgres: AtomicU64,
    pub of_redis: AtomicU64,
    pub flushes: AtomicU64,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// At that failpoint.
    Failpoint(String),
    /// By SIGKILL.
    Killed,
    /// By itself, as it may when a server is away while it starts.
    Itself,
}

impl Stage {
    pub fn new(deployment: &Deployment, bind: &str, seed: u64) -> Self {
        Self {
            settings: deployment.settings.clone(),
            seed,
            runtime: Handle::current(),
            ledger: deployment.ledger.clone(),
            accepted: Accepted::default(),
            url: format!("http://{bind}"),
            token: deployment.token.clone(),
            began: Instant::now(),
            kills: Kills::default(),
            faults: AtomicU64::default(),
            coverage: Mutex::default(),
            violations: Mutex::default(),
        }
    }

    /// Tells people how far the run is.
    pub fn say(&self, what: &str) {
        let kills = self.kills.total();
        eprintln!(
            "{:6.1?} s, {kills} kills: {what}",
            self.began.elapsed().as_secs_f32()
        );
    }

    /// Waits for something asynchronous.
    pub fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(what)
    }

    pub fn client(&self) -> Client {
        Client::new(&self.url, &self.token)
    }

    /// A command line with the deployment's settings.
    pub fn launch(&self, args: &[&str]) -> Launch {
        let settings = self.settings.iter();
        tender(args).envs(settings.map(|(name, value)| (*name, value.clone())))
    }

    /// The same, to die when it reaches a point for the time after `passes` others.
    pub fn armed(&self, args: &[&str], point: &str, passes: u32) -> Launch {
        let action = match passes {
            0 => format!("{point}=panic"),
            some => format!("{point}={some}*off->panic"),
        };
        self.launch(args).env("FAILPOINTS", action)
    }

    /// Starts a process of a role and waits until it is ready.
    pub fn role(&self, role: &str) -> Process {
        let process = self.launch(&[role]).start();
        process.wait_for_line(ready(role));
        process
    }

    /// Runs it until it has ended, and kills it once it has lived for that long.
    pub fn live(&self, process: &mut Process, life: Duration) -> End {
        let by_itself = process.wait(life);
        if by_itself.is_none() {
            process.kill9();
        }
        process.log().wait_closed(PATIENCE);
        let words = process
            .log()
            .wait_for(|line| line.starts_with(LAST_WORDS), Duration::ZERO);
        if let Some(words) = words {
            let point = words[LAST_WORDS.len()..].to_owned();
            *self.coverage().entry(point.clone()).or_default() += 1;
            count(&self.kills.at_failpoints);
            return End::Failpoint(point);
        }
        if by_itself.is_none() {
            count(&self.kills.of_processes);
            return End::Killed;
        }
        if process
            .log()
            .wait_for(|line| line.contains("panicked at"), Duration::ZERO)
            .is_some()
        {
            self.violation(format!("a process panicked: {}", process.log().tail()));
        }
        End::Itself
    }

    /// Starts a process that must die at a point, once `situation` is made for it.
    pub fn die(&self, args: &[&str], point: &str, situation: impl FnOnce(&mut Process)) {
        self.die_with(self.armed(args, point, 0), point, situation);
    }

    /// The same, with settings of its own.
    pub fn die_with(&self, launch: Launch, point: &str, situation: impl FnOnce(&mut Process)) {
        let mut process = launch.start();
        situation(&mut process);
        let end = self.live(&mut process, PATIENCE);
        if end != End::Failpoint(point.to_owned()) {
            let tail = process.log().tail();
            self.violation(format!("{point} was not reached, but {end:?}: {tail}"));
        }
    }

    pub fn violation(&self, what: String) {
        eprintln!("VIOLATION: {what}");
        self.violations.lock().unwrap().push(what);
    }

    pub fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap().clone()
    }

    pub fn kills(&self) -> &Kills {
        &self.kills
    }

    /// Faults of the network so far.
    pub fn faults(&self) -> &AtomicU64 {
        &self.faults
    }

    /// Deaths by point.
    pub fn coverage(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.coverage.lock().unwrap()
    }
}

impl Kills {
    pub fn total(&self) -> u64 {
        [
            &self.at_failpoints,
            &self.of_processes,
            &self.of_postgres,
            &self.of_redis,
        ]
        .map(|kills| kills.load(Ordering::Relaxed))
        .iter()
        .sum()
    }
}

/// What a process of that role says when it is ready.
pub fn ready(role: &str) -> &'static str {
    match role {
        "api" => "API is listening",
        "worker" => "worker is ready",
        _ => "reconciler is ready",
    }
}

/// One more.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
