//! What a process needs, and whether it is there.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, join_all};
use tokio::time::timeout;

use crate::http::{Check, Readiness};
use crate::ledger::{Ledger, Memory, Progress};
use crate::queue::Queue;
use crate::stellar::rpc::{Rpc, Seen};

/// Longest that one thing may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Shortest age at which the last pass of a reconciler is too old.
const OLD_PASS: Duration = Duration::from_secs(30);
/// Passes that may be missed before the last one is too old.
const MISSED_PASSES: u32 = 10;
/// Ledgers that a node may be behind, and some time for clocks that differ.
const LAG_LEDGERS: u32 = 10;
const LAG_SLACK: Duration = Duration::from_secs(60);

/// What a process needs.
#[derive(Clone)]
pub struct Needs {
    /// The ledger: nothing goes without.
    pub ledger: Ledger,
    /// The queue, where it is used.
    pub queue: Option<Queue>,
    /// The network, where it is used.
    pub rpc: Option<Rpc>,
    /// The network's usual time between two ledgers.
    pub close: Duration,
    /// Whether it also needs some reconciler to pass, without which nothing that was taken is ever settled.
    pub reconciler: bool,
}

/// Looks at everything at once: a probe does not wait for long.
#[must_use]
pub fn of(needs: Needs) -> Readiness {
    Arc::new(move || {
        let Needs {
            ledger,
            queue,
            rpc,
            close,
            reconciler,
        } = needs.clone();
        let mut checks: Vec<BoxFuture<'static, Check>> = Vec::new();
        let asked = ledger.clone();
        checks.push(Box::pin(
            async move { answers("ledger", asked.ping()).await },
        ));
        let asked = ledger.clone();
        checks.push(Box::pin(async move {
            match timeout(PATIENCE, asked.memory()).await {
                Ok(Ok(memory)) => remembers(&memory),
                Ok(Err(_)) | Err(_) => check("memory", false, "the ledger does not tell"),
            }
        }));
        if let Some(queue) = queue {
            checks.push(Box::pin(
                async move { answers("queue", queue.ping()).await },
            ));
        }
        if let Some(rpc) = rpc {
            checks.push(Box::pin(async move {
                let seen = timeout(PATIENCE, rpc.latest()).await;
                network(seen.ok().and_then(Result::ok), SystemTime::now(), close)
            }));
        }
        if reconciler {
            checks.push(Box::pin(async move {
                match timeout(PATIENCE, ledger.progress()).await {
                    Ok(Ok(progress)) => passes(progress),
                    Ok(Err(_)) | Err(_) => check("reconciler", false, "the ledger does not tell"),
                }
            }));
        }
        Box::pin(join_all(checks))
    })
}

fn check(name: &'static str, good: bool, detail: impl Into<String>) -> Check {
    let detail = detail.into();
    Check { name, good, detail }
}

async fn answers<E>(name: &'static str, ping: impl Future<Output = Result<(), E>>) -> Check {
    let good = matches!(timeout(PATIENCE, ping).await, Ok(Ok(())));
    let detail = if good { "answers" } else { "does not answer" };
    check(name, good, detail)
}

/// Whether the ledger decides anything, which one that was set back does not.
fn remembers(memory: &Memory) -> Check {
    match memory.refusal() {
        None => check("memory", true, "nothing is known to be forgotten"),
        Some(reason) => check(
            "memory",
            false,
            format!("nothing is sent or decided: {reason}"),
        ),
    }
}

/// The last ledger closed, and how far it lies behind the wall clock, which is good enough for a probe: nothing about
/// money is decided here, and nothing that decides about money looks at this clock.
fn network(seen: Option<Seen>, now: SystemTime, close: Duration) -> Check {
    let Some(seen) = seen else {
        return check("network", false, "does not answer");
    };
    let now = now.duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap_or_default().as_secs();
    // A network ahead of our clock does not lag.
    let lag = now.saturating_sub(seen.close_time);
    let good = Duration::from_secs(lag) <= close * LAG_LEDGERS + LAG_SLACK;
    let detail = format!("at ledger {}, which closed {lag} s ago", seen.ledger);
    check("network", good, detail)
}

/// How far the reconcilers are: all of them, since any one settles what the others leave.
fn passes(progress: Option<Progress>) -> Check {
    let Some(progress) = progress else {
        return check("reconciler", false, "no reconciler has run yet");
    };
    let oldest = OLD_PASS.max(progress.pass.period * MISSED_PASSES);
    check("reconciler", progress.age <= oldest, words(&progress))
}

fn words(progress: &Progress) -> String {
    let (ledger, ago) = (progress.pass.ledger, progress.age.as_secs());
    let passed = format!(
        "passed ledger {ledger} {ago} s ago, {} leases",
        progress.leases
    );
    let Some(stillest) = progress.stillest else {
        return passed;
    };
    format!("{passed}, one unchanged for {} s", stillest.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Pass;

    const CLOSE: Duration = Duration::from_secs(5);

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_network_that_lags_is_not_ready() {
        let seen = |close_time| {
            Some(Seen {
                ledger: 12,
                close_time,
            })
        };
        let rows = [
            (1_000, true, "at ledger 12, which closed 0 s ago"),
            (1_110, true, "at ledger 12, which closed 110 s ago"),
            (1_111, false, "at ledger 12, which closed 111 s ago"),
            (900, true, "at ledger 12, which closed 0 s ago"),
        ];
        for (now, good, detail) in rows {
            let check = network(seen(1_000), at(now), CLOSE);
            assert_eq!((check.good, check.detail.as_str()), (good, detail));
        }
        assert!(!network(None, at(0), CLOSE).good);
    }

    fn progress(period_s: u64, age_s: u64) -> Progress {
        Progress {
            pass: Pass {
                ledger: 7,
                close_time: 1_000,
                period: Duration::from_secs(period_s),
            },
            age: Duration::from_secs(age_s),
            leases: 3,
            stillest: Some(Duration::from_secs(4)),
            out_of_reach: 0,
        }
    }

    #[test]
    fn a_reconciler_that_stopped_passing_is_not_ready() {
        let rows = [
            (1, 30, true),
            (1, 31, false),
            (60, 600, true),
            (60, 601, false),
        ];
        for (period, age, good) in rows {
            let check = passes(Some(progress(period, age)));
            assert_eq!(check.good, good, "{period} {age}");
        }
        let check = passes(Some(progress(1, 2)));
        assert_eq!(
            check.detail,
            "passed ledger 7 2 s ago, 3 leases, one unchanged for 4 s"
        );
    }

    #[test]
    fn without_a_pass_there_is_no_reconciler() {
        let check = passes(None);
        assert!(!check.good);
        assert_eq!(check.detail, "no reconciler has run yet");
    }
}
