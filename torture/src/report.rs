//! What a run came to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

use crate::auditor::Findings;
use crate::deployment::Deployment;
use crate::pickup::Pickups;
use crate::stage::Stage;
use crate::steps::{STEPS, both};

/// All of it.
#[derive(Debug, Serialize)]
pub struct Report {
    seed: u64,
    duration_s: f32,
    kills: KillCounts,
    answers: BTreeMap<u16, u64>,
    findings: Findings,
    pickup: Pickups,
    /// Calls that the network received, by method.
    calls: BTreeMap<&'static str, u64>,
    /// Faults of the network in the storm.
    faults: u64,
    steps: usize,
    /// Deaths before and after each step.
    coverage: BTreeMap<&'static str, [u64; 2]>,
    violations: Vec<String>,
}

#[derive(Debug, Serialize)]
struct KillCounts {
    total: u64,
    at_failpoints: u64,
    of_processes: u64,
    of_postgres: u64,
    of_redis: u64,
    redis_flushes_besides: u64,
}

impl Report {
    pub fn new(
        stage: &Stage,
        deployment: &Deployment,
        findings: Findings,
        pickup: Pickups,
        took: Duration,
    ) -> Self {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let kills = stage.kills();
        let deaths = stage.coverage().clone();
        let coverage: BTreeMap<_, _> = STEPS
            .iter()
            .map(|(name, _)| {
                (
                    *name,
                    both(name).map(|point| deaths.get(&point).copied().unwrap_or(0)),
                )
            })
            .collect();
        let mut violations = stage.violations();
        for (name, sides) in &coverage {
            if sides.contains(&0) {
                violations.push(format!(
                    "no process died on both sides of {name}: {sides:?}"
                ));
            }
        }
        Self {
            seed: stage.seed,
            duration_s: took.as_secs_f32(),
            kills: KillCounts {
                total: kills.total(),
                at_failpoints: count(&kills.at_failpoints),
                of_processes: count(&kills.of_processes),
                of_postgres: count(&kills.of_postgres),
                of_redis: count(&kills.of_redis),
                redis_flushes_besides: count(&kills.flushes),
            },
            answers: stage.accepted.book().answers,
            findings,
            pickup,
            calls: deployment.node.calls(),
            faults: count(stage.faults()),
            steps: STEPS.len(),
            coverage,
            violations,
        }
    }

    /// Whether every promise was kept and every point was met.
    pub fn is_clean(&self) -> bool {
        self.findings.is_clean() && self.violations.is_empty()
    }
}
