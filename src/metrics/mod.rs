//! Counters and gauges for Prometheus, by the names that dashboards and alert rules use.

use std::time::Duration;

use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder,
};

use crate::domain::classify::SendAnswer;
use crate::domain::operation::OperationKind;
use crate::domain::schedule::Priority;
use crate::domain::submission::Status;

/// From acceptance to a terminal status, in seconds.
const LATENCY_BUCKETS: [f64; 12] = [
    0.5, 1.0, 2.0, 4.0, 6.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0,
];
/// Of HTTP requests, in seconds. Long polls fill the last ones.
const HTTP_BUCKETS: [f64; 10] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// Everything a process counts. One per process, shared by reference. What a process never touches it does not show.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    operations: IntCounterVec,
    queue_depth: IntGaugeVec,
    latency: HistogramVec,
    fee_bumps: IntCounterVec,
    oldest_due: IntGaugeVec,
    stuck: IntGaugeVec,
    unknown: IntGaugeVec,
    dead: IntCounterVec,
    max_fee_hits: IntCounterVec,
    channels: IntGaugeVec,
    sends: IntCounterVec,
    rpc_calls: IntCounterVec,
    passes: IntCounterVec,
    pass_age: IntGaugeVec,
    leases: IntGaugeVec,
    settled: IntCounterVec,
    resent: IntCounterVec,
    faults: IntCounterVec,
    memory_lost: IntGaugeVec,
    intents: IntCounterVec,
    rpc_lag: IntGaugeVec,
    balances: IntGaugeVec,
    http_requests: IntCounterVec,
    http_seconds: HistogramVec,
}

/// What became of an intent of the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relayed {
    /// It has a submission.
    Accepted,
    /// It breaks a rule; its row says which.
    Refused,
    /// The database would not take it in.
    Failed,
}

impl Relayed {
    const ALL: [Self; 3] = [Self::Accepted, Self::Refused, Self::Failed];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// A metric could not be registered or written.
#[derive(Debug, thiserror::Error)]
#[error("metrics: {0}")]
pub struct MetricsError(#[from] prometheus::Error);

impl Metrics {
    /// A registry of its own, with nothing counted yet.
    ///
    /// # Errors
    /// [`MetricsError`] if two metrics have the same name.
    #[rustfmt::skip] // One metric a line reads as the table it is.
    pub fn new() -> Result<Self, MetricsError> {
        let r = Registry::new();
        let metrics = Self {
            operations: counters(&r, "outbox_ops_total", "Operations by outcome", &["kind", "priority", "outcome"])?,
            queue_depth: gauges(&r, "outbox_queue_depth", "Submissions that are not at their end yet", &["status", "priority"])?,
            latency: histograms(&r, "outbox_op_latency_seconds", "From acceptance to a terminal status", &["kind"], &LATENCY_BUCKETS)?,
            fee_bumps: counters(&r, "outbox_fee_bump_total", "Fees raised", &["kind"])?,
            oldest_due: gauges(&r, "outbox_oldest_due_seconds", "How long the oldest due submission has waited for a worker", &["priority"])?,
            stuck: gauges(&r, "outbox_stuck_submitted", "Submissions with the network that have not moved for longer than an envelope lives", &[])?,
            unknown: gauges(&r, "outbox_unknown_outcomes", "Submissions whose outcome is out of reach", &[])?,
            dead: counters(&r, "outbox_dead_total", "Submissions that failed for good", &[])?,
            max_fee_hits: counters(&r, "outbox_max_fee_hit_total", "Bids at the ceiling", &["priority"])?,
            channels: gauges(&r, "outbox_channel_accounts", "Channel accounts", &["state"])?,
            sends: counters(&r, "outbox_sends_total", "Envelopes handed to nodes, by what they answered", &["answer"])?,
            rpc_calls: counters(&r, "stellar_rpc_calls_total", "Calls of Stellar RPC nodes", &["method"])?,
            passes: counters(&r, "reconciler_passes_total", "Passes over the leases", &[])?,
            pass_age: gauges(&r, "reconciler_pass_age_seconds", "Time since any reconciler finished a pass", &[])?,
            leases: gauges(&r, "reconciler_leases", "Submissions that hold a channel account", &[])?,
            settled: counters(&r, "reconciler_settled_total", "Submissions settled or set back", &[])?,
            resent: counters(&r, "reconciler_resent_total", "Envelopes sent again", &[])?,
            faults: counters(&r, "reconciler_faults_total", "Rows that a pass had to leave for the next one", &[])?,
            memory_lost: gauges(&r, "ledger_memory_lost", "1 while nothing is sent or decided because the ledger was set back", &[])?,
            intents: counters(&r, "outbox_intents_total", "Intents of the outbox by what became of them", &["outcome"])?,
            rpc_lag: gauges(&r, "stellar_rpc_lag_seconds", "Age of the last ledger that the nodes show, by this machine's clock", &[])?,
            balances: gauges(&r, "stellar_balance_stroops", "What an account holds of the native asset", &["account"])?,
            http_requests: counters(&r, "http_requests_total", "HTTP requests", &["method", "status"])?,
            http_seconds: histograms(&r, "http_request_seconds", "Duration of HTTP requests", &["method"], &HTTP_BUCKETS)?,
            registry: r,
        };
        metrics.count_from_zero();
        Ok(metrics)
    }

    /// What alert rules watch for an increase has to be there before it increases: the first time is one, too.
    fn count_from_zero(&self) {
        self.dead.with_label_values(NONE);
        for priority in Priority::ALL {
            self.max_fee_hits.with_label_values(&[priority.as_str()]);
        }
        for outcome in Relayed::ALL {
            self.intents.with_label_values(&[outcome.as_str()]);
        }
    }

    /// A submission reached a terminal status so long after it was accepted.
    pub fn operation_ended(
        &self,
        kind: OperationKind,
        priority: Priority,
        outcome: Status,
        after: Duration,
    ) {
        let labels = [kind.as_str(), priority.as_str(), outcome.as_str()];
        self.operations.with_label_values(&labels).inc();
        self.latency
            .with_label_values(&[kind.as_str()])
            .observe(after.as_secs_f64());
        if outcome == Status::Failed {
            self.dead.with_label_values(NONE).inc();
        }
    }

    /// A fee was raised.
    pub fn fee_raised(&self, kind: OperationKind) {
        self.fee_bumps.with_label_values(&[kind.as_str()]).inc();
    }

    /// A bid reached the ceiling.
    pub fn fee_ceiling_hit(&self, priority: Priority) {
        self.max_fee_hits
            .with_label_values(&[priority.as_str()])
            .inc();
    }

    /// A node answered a send, or kept its answer back.
    pub fn send_answered(&self, answer: &SendAnswer) {
        let answer = match answer {
            SendAnswer::Pending => "pending",
            SendAnswer::Duplicate => "duplicate",
            SendAnswer::TryAgainLater => "try_again_later",
            SendAnswer::Refused(_) => "refused",
            SendAnswer::Unknown(_) => "unknown",
        };
        self.sends.with_label_values(&[answer]).inc();
    }

    /// Calls of nodes so far, by method.
    pub fn set_rpc_calls<'a>(&self, calls: impl IntoIterator<Item = (&'a str, u64)>) {
        for (method, total) in calls {
            let counter = self.rpc_calls.with_label_values(&[method]);
            counter.inc_by(total.saturating_sub(counter.get()));
        }
    }

    /// This process's reconciler finished a pass over so many leases.
    pub fn reconciler_passed(&self, leases: usize, settled: usize, resent: usize, faults: usize) {
        self.passes.with_label_values(NONE).inc();
        self.leases
            .with_label_values(NONE)
            .set(gauge(leases as u64));
        self.settled.with_label_values(NONE).inc_by(settled as u64);
        self.resent.with_label_values(NONE).inc_by(resent as u64);
        self.faults.with_label_values(NONE).inc_by(faults as u64);
    }

    /// How far the reconcilers are, whichever process they are: the time since the last pass, and how many submissions
    /// have an outcome out of reach.
    pub fn set_progress(&self, age: Duration, unknown: u64) {
        self.pass_age
            .with_label_values(NONE)
            .set(gauge(age.as_secs()));
        self.unknown.with_label_values(NONE).set(gauge(unknown));
    }

    /// How long due submissions have waited, and how many with the network do not move.
    pub fn set_backlog(&self, oldest_due: &[(Priority, Duration)], stuck: u64) {
        for priority in Priority::ALL {
            let oldest = oldest_due.iter().find(|(of, _)| *of == priority);
            let waited = oldest.map_or(0, |(_, waited)| waited.as_secs());
            self.oldest_due
                .with_label_values(&[priority.as_str()])
                .set(gauge(waited));
        }
        self.stuck.with_label_values(NONE).set(gauge(stuck));
    }

    /// How old the last ledger is that the nodes show.
    pub fn set_rpc_lag(&self, lag: Duration) {
        self.rpc_lag
            .with_label_values(NONE)
            .set(gauge(lag.as_secs()));
    }

    /// What an account of ours holds, in stroops.
    pub fn set_balance(&self, account: &str, stroops: i64) {
        self.balances.with_label_values(&[account]).set(stroops);
    }

    /// Whether the ledger was set back and decides nothing.
    pub fn set_memory_lost(&self, lost: bool) {
        self.memory_lost
            .with_label_values(NONE)
            .set(i64::from(lost));
    }

    /// A relay had an intent of the outbox in hand.
    pub fn intent_relayed(&self, outcome: Relayed) {
        self.intents.with_label_values(&[outcome.as_str()]).inc();
    }

    /// What the ledger holds now that is not at its end yet. A status and priority that is not listed has none.
    pub fn set_depth(&self, counts: &[(Status, Priority, u64)]) {
        for status in Status::ALL.into_iter().filter(|it| !it.is_terminal()) {
            for priority in Priority::ALL {
                let count = counts
                    .iter()
                    .filter(|entry| (entry.0, entry.1) == (status, priority))
                    .map(|entry| entry.2)
                    .sum();
                self.queue_depth
                    .with_label_values(&[status.as_str(), priority.as_str()])
                    .set(gauge(count));
            }
        }
    }

    /// What the pool holds now.
    pub fn set_channels(&self, free: u64, leased: u64, quarantined: u64) {
        for (state, count) in [
            ("free", free),
            ("leased", leased),
            ("quarantined", quarantined),
        ] {
            self.channels.with_label_values(&[state]).set(gauge(count));
        }
    }

    /// An HTTP request was answered.
    pub fn http_answered(&self, method: &str, status: u16, after: Duration) {
        // Callers choose methods freely; labels must stay few.
        let method = match method {
            "GET" | "HEAD" | "POST" | "PUT" | "DELETE" | "OPTIONS" | "PATCH" => method,
            _ => "other",
        };
        self.http_requests
            .with_label_values(&[method, &status.to_string()])
            .inc();
        self.http_seconds
            .with_label_values(&[method])
            .observe(after.as_secs_f64());
    }

    /// Everything, in Prometheus' text format.
    ///
    /// # Errors
    /// [`MetricsError`] if it cannot be written as text.
    pub fn render(&self) -> Result<String, MetricsError> {
        let mut bytes = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut bytes)?;
        String::from_utf8(bytes)
            .map_err(|fault| MetricsError(prometheus::Error::Msg(fault.to_string())))
    }
}

/// The labels of a metric without any.
const NONE: &[&str] = &[];

fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    let metric = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn gauges(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntGaugeVec, prometheus::Error> {
    let metric = IntGaugeVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn histograms(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: &[f64],
) -> Result<HistogramVec, prometheus::Error> {
    let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
    let metric = HistogramVec::new(options, labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn gauge(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
