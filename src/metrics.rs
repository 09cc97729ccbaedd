//! Counters and gauges for Prometheus, by the names that dashboards and alert rules use.

use std::time::Duration;

use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

use crate::domain::operation::OperationKind;
use crate::domain::schedule::Priority;
use crate::domain::submission::Status;

/// From acceptance to a terminal status, in seconds.
const LATENCY_BUCKETS: [f64; 12] = [
    0.5, 1.0, 2.0, 4.0, 6.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0,
];
/// Of HTTP requests, in seconds. Long polls fill the last ones.
const HTTP_BUCKETS: [f64; 10] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// Everything the service counts. One per process, shared by reference.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    operations: IntCounterVec,
    queue_depth: IntGaugeVec,
    latency: HistogramVec,
    fee_bumps: IntCounterVec,
    stuck: IntGauge,
    dead: IntCounter,
    max_fee_hits: IntCounterVec,
    channels: IntGaugeVec,
    http_requests: IntCounterVec,
    http_seconds: HistogramVec,
}

/// A metric could not be registered or written.
#[derive(Debug, thiserror::Error)]
#[error("metrics: {0}")]
pub struct MetricsError(#[from] prometheus::Error);

impl Metrics {
    /// A registry of its own, with everything at zero.
    ///
    /// # Errors
    /// [`MetricsError`] if two metrics have the same name.
    pub fn new() -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let metrics = Self {
            operations: counters(
                "outbox_ops_total",
                "Operations by outcome",
                &["kind", "priority", "outcome"],
            )?,
            queue_depth: gauges(
                "outbox_queue_depth",
                "Submissions that are not at their end yet",
                &["status", "priority"],
            )?,
            latency: histograms(
                "outbox_op_latency_seconds",
                "From acceptance to a terminal status",
                &["kind"],
                &LATENCY_BUCKETS,
            )?,
            fee_bumps: counters("outbox_fee_bump_total", "Fees raised", &["kind"])?,
            stuck: IntGauge::new(
                "outbox_stuck_submitted",
                "Submissions whose outcome is out of reach",
            )?,
            dead: IntCounter::new("outbox_dead_total", "Submissions that failed for good")?,
            max_fee_hits: counters(
                "outbox_max_fee_hit_total",
                "Bids at the ceiling",
                &["priority"],
            )?,
            channels: gauges("outbox_channel_accounts", "Channel accounts", &["state"])?,
            http_requests: counters(
                "http_requests_total",
                "HTTP requests",
                &["method", "status"],
            )?,
            http_seconds: histograms(
                "http_request_seconds",
                "Duration of HTTP requests",
                &["method"],
                &HTTP_BUCKETS,
            )?,
            registry,
        };
        metrics.register()?;
        Ok(metrics)
    }

    fn register(&self) -> Result<(), MetricsError> {
        self.registry.register(Box::new(self.operations.clone()))?;
        self.registry.register(Box::new(self.queue_depth.clone()))?;
        self.registry.register(Box::new(self.latency.clone()))?;
        self.registry.register(Box::new(self.fee_bumps.clone()))?;
        self.registry.register(Box::new(self.stuck.clone()))?;
        self.registry.register(Box::new(self.dead.clone()))?;
        self.registry
            .register(Box::new(self.max_fee_hits.clone()))?;
        self.registry.register(Box::new(self.channels.clone()))?;
        self.registry
            .register(Box::new(self.http_requests.clone()))?;
        self.registry
            .register(Box::new(self.http_seconds.clone()))?;
        Ok(())
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
            self.dead.inc();
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

    /// So many submissions have an outcome out of reach.
    pub fn set_stuck(&self, count: usize) {
        self.stuck.set(gauge(count as u64));
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

fn counters(name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, prometheus::Error> {
    IntCounterVec::new(Opts::new(name, help), labels)
}

fn gauges(name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
    IntGaugeVec::new(Opts::new(name, help), labels)
}

fn histograms(
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: &[f64],
) -> Result<HistogramVec, prometheus::Error> {
    HistogramVec::new(
        HistogramOpts::new(name, help).buckets(buckets.to_vec()),
        labels,
    )
}

fn gauge(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_rendered_by_name_and_label() {
        let metrics = Metrics::new().expect("a registry");
        metrics.operation_ended(
            OperationKind::Payment,
            Priority::Normal,
            Status::Failed,
            Duration::from_secs(3),
        );
        metrics.set_depth(&[(Status::Pending, Priority::Low, 7)]);
        metrics.set_depth(&[(Status::Building, Priority::Low, 2)]);
        metrics.set_channels(3, 2, 1);
        metrics.http_answered("BREW", 405, Duration::from_millis(1));
        let text = metrics.render().expect("text");
        assert!(!text.contains(r#"status="confirmed"}"#), "{text}");
        for line in [
            r#"outbox_ops_total{kind="payment",outcome="failed",priority="NORMAL"} 1"#,
            r#"outbox_queue_depth{priority="LOW",status="pending"} 0"#,
            r#"outbox_queue_depth{priority="LOW",status="building"} 2"#,
            r#"outbox_channel_accounts{state="leased"} 2"#,
            r#"http_requests_total{method="other",status="405"} 1"#,
            "outbox_dead_total 1",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }
}
