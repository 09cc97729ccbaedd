//! Probes and metrics, of every process: an api serves them with the rest, other roles on an address of their own.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, join_all};
use poem::web::Data;
use poem_openapi::payload::{Json, PlainText};
use poem_openapi::{Object, OpenApi};
use tokio::time::timeout;

use crate::domain::ids::AccountId;
use crate::flow::fields::Fault;
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::stellar::rpc::Rpc;

use super::patience::reading;
use super::problem::{Code, Problem};
use super::refusal::{LiveRefused, MetricsRefused, ReadyRefused};

/// Longest that whoever asks for metrics waits for nodes.
const NETWORK_PATIENCE: Duration = Duration::from_secs(2);

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub struct Check {
    /// What, such as `ledger`.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub good: bool,
    /// What was found. Shown to anybody: no addresses, no secrets.
    pub detail: String,
}

/// Looks at the parts of this process alone: one that is not as it should be is mended by starting the process again.
pub type Liveness = Arc<dyn Fn() -> Vec<Check> + Send + Sync>;

/// Looks at everything this process needs.
pub type Readiness = Arc<dyn Fn() -> BoxFuture<'static, Vec<Check>> + Send + Sync>;

/// What probes of a process tell of.
#[derive(Clone)]
pub struct Probed {
    /// Its own parts.
    pub liveness: Liveness,
    /// What it needs.
    pub readiness: Readiness,
    /// What it counts.
    pub metrics: Arc<Metrics>,
    /// The client whose calls are shown.
    pub rpc: Option<Rpc>,
    /// Accounts whose balances are shown, by what they are for.
    pub balances: Vec<(&'static str, AccountId)>,
    /// The ledger whose rows are counted: for apis only, since the others would show the same numbers again.
    pub ledger: Option<Ledger>,
}

/// The operations of supervisors and monitors.
pub struct Probes;

/// The process runs.
#[derive(Debug, Object)]
pub struct Live {
    /// Always `ok`.
    status: String,
}

/// Everything the service needs is there.
#[derive(Debug, Object)]
pub struct Ready {
    /// What was looked at, and what was found.
    checks: Vec<ReadyCheck>,
}

/// One thing the service needs.
#[derive(Debug, Object)]
pub struct ReadyCheck {
    /// What.
    name: String,
    /// What was found.
    detail: String,
}

#[OpenApi]
impl Probes {
    /// Whether the process runs, with all its parts.
    #[oai(path = "/livez", method = "get", operation_id = "live")]
    #[expect(
        clippy::unused_async,
        reason = "the framework calls asynchronous handlers only"
    )]
    async fn live(&self, probed: Data<&Arc<Probed>>) -> Result<Json<Live>, LiveRefused> {
        let (_, dead) = divide((probed.liveness)());
        if dead.is_empty() {
            return Ok(Json(Live {
                status: "ok".to_owned(),
            }));
        }
        let problem = Problem::new(Code::NotAlive, "a part of the process is dead");
        Err(problem.with_errors(faults(dead)).into())
    }

    /// Whether the service can do its work.
    #[oai(path = "/readyz", method = "get", operation_id = "ready")]
    async fn ready(&self, probed: Data<&Arc<Probed>>) -> Result<Json<Ready>, ReadyRefused> {
        let (good, bad) = divide((probed.readiness)().await);
        if bad.is_empty() {
            let checks = good.into_iter().map(|check| ReadyCheck {
                name: check.name.to_owned(),
                detail: check.detail,
            });
            return Ok(Json(Ready {
                checks: checks.collect(),
            }));
        }
        let problem = Problem::new(Code::NotReady, "something the service needs is not ready");
        Err(problem.with_errors(faults(bad)).into())
    }

    /// Metrics in Prometheus' text format.
    #[oai(path = "/metrics", method = "get", operation_id = "metrics")]
    async fn metrics(
        &self,
        probed: Data<&Arc<Probed>>,
    ) -> Result<PlainText<String>, MetricsRefused> {
        let metrics = &probed.metrics;
        if let Some(ledger) = &probed.ledger {
            count_rows(ledger, metrics).await;
        }
        if let Some(rpc) = &probed.rpc {
            look_at_network(rpc, &probed.balances, metrics).await;
            let calls = rpc.calls().into_iter();
            metrics.set_rpc_calls(calls.map(|(method, count)| (method.as_str(), count)));
        }
        let text = metrics.render();
        text.map(PlainText)
            .map_err(|fault| Problem::new(Code::Internal, fault.to_string()).into())
    }
}

/// Without the ledger the other metrics are worth the more.
async fn count_rows(ledger: &Ledger, metrics: &Metrics) {
    let (counts, backlog, pool, progress, memory) = futures::join!(
        reading(ledger.live_counts()),
        reading(ledger.backlog()),
        reading(ledger.pool()),
        reading(ledger.progress()),
        reading(ledger.memory()),
    );
    if let Ok(counts) = counts {
        metrics.set_depth(&counts);
    }
    if let Ok(backlog) = backlog {
        metrics.set_backlog(&backlog.oldest_due, backlog.stuck);
    }
    if let Ok(pool) = pool {
        metrics.set_channels(pool.free, pool.leased, pool.quarantined);
    }
    if let Ok(Some(progress)) = progress {
        metrics.set_progress(progress.age, progress.out_of_reach);
    }
    if let Ok(memory) = memory {
        metrics.set_memory_lost(memory.refusal().is_some());
    }
}

/// What the nodes show now. One that does not answer in time leaves the gauges as they were: readiness tells.
async fn look_at_network(rpc: &Rpc, balances: &[(&'static str, AccountId)], metrics: &Metrics) {
    let seen = timeout(NETWORK_PATIENCE, rpc.latest());
    let held = balances.iter().map(|(name, account)| async move {
        let held = timeout(NETWORK_PATIENCE, rpc.native_balance(*account)).await;
        (*name, held)
    });
    let (seen, held) = futures::join!(seen, join_all(held));
    if let Ok(Ok(seen)) = seen {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let lag = now
            .unwrap_or_default()
            .as_secs()
            .saturating_sub(seen.close_time);
        metrics.set_rpc_lag(Duration::from_secs(lag));
    }
    for (name, held) in held {
        if let Ok(Ok(stroops)) = held {
            metrics.set_balance(name, stroops.unwrap_or(0));
        }
    }
}

/// What is as it should be, and what is not.
fn divide(checks: Vec<Check>) -> (Vec<Check>, Vec<Check>) {
    checks.into_iter().partition(|check| check.good)
}

fn faults(checks: Vec<Check>) -> Vec<Fault> {
    let faults = checks.into_iter().map(|check| Fault {
        pointer: format!("/{}", check.name),
        detail: check.detail,
    });
    faults.collect()
}
