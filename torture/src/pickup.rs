//! How long the jobs of a killed worker wait until another one has run them.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::deployment::Deployment;
use crate::directed::NUMBERS;
use crate::load::Load;
use crate::stage::{Stage, count};
use crate::weather;

/// Numbers of these payments come after those of the storm.
const FIRST: u32 = NUMBERS + 1_000_000;
const WORKERS: usize = 3;
/// Longest that is waited for a job.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
/// How long workers are left alone before one is killed.
const CALM: Duration = Duration::from_millis(700);

/// Seconds, over all kills.
#[derive(Debug, Default, Serialize)]
pub struct Pickups {
    pub kills: usize,
    /// Jobs that were running anywhere when a worker was killed.
    pub jobs: usize,
    pub p50_s: f32,
    pub p99_s: f32,
    pub max_s: f32,
    /// Of each kill, shortest first.
    pub all_s: Vec<f32>,
    /// Load average of the machine at the end: above its cores, times say little.
    pub machine_load: String,
}

/// Kills a worker so many times, and each time waits until every job that was running then has run to its end;
/// at most `limit_s` seconds at the 99th percentile.
pub fn measure(stage: &Stage, deployment: &Deployment, kills: u32, limit_s: f32) -> Pickups {
    let mut pickups = Pickups::default();
    if kills == 0 {
        return pickups;
    }
    deployment.node.set_faults(weather::slow_sends());
    let _others = ["api", "reconciler"].map(|role| stage.role(role));
    let mut workers: Vec<_> = (0..WORKERS).map(|_| stage.role("worker")).collect();
    let load = Load::start(stage, &deployment.payees, FIRST);
    let mut times = Vec::new();
    for kill in 0..kills as usize {
        thread::park_timeout(CALM);
        let victim = &mut workers[kill % WORKERS];
        victim.kill9();
        count(&stage.kills().of_processes);
        let killed = Instant::now();
        let jobs = running(deployment);
        pickups.jobs += jobs.len();
        let waited = wait_for(stage, deployment, jobs, killed);
        times.push(waited.as_secs_f32());
        workers[kill % WORKERS] = stage.role("worker");
    }
    load.stop(stage);
    times.sort_by(f32::total_cmp);
    pickups.kills = times.len();
    pickups.p50_s = times[times.len() / 2];
    pickups.p99_s = times[(times.len() * 99).div_ceil(100) - 1];
    pickups.max_s = times[times.len() - 1];
    pickups.all_s = times;
    pickups.machine_load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    if pickups.p99_s > limit_s {
        stage.violation(format!(
            "jobs of killed workers waited too long: {pickups:?}"
        ));
    }
    stage.say("workers' jobs were picked up");
    pickups
}

/// Jobs on a lease now, and the rows that are claimed now.
fn running(deployment: &Deployment) -> BTreeSet<String> {
    let mut command = redis::cmd("ZRANGE");
    command.arg("tender:normal:leases").arg(0).arg(-1);
    deployment.redis.ask(&command)
}

fn wait_for(
    stage: &Stage,
    deployment: &Deployment,
    mut jobs: BTreeSet<String>,
    killed: Instant,
) -> Duration {
    let claimed = "SELECT count(*) FROM submission_ledger WHERE status = 'building' AND claim_until IS NOT NULL AND updated_at <";
    let now = deployment.postgres.psql(
        &deployment.database,
        "SELECT (extract(epoch FROM now()) * 1000)::bigint",
    );
    let sql = format!("{claimed} {now}");
    loop {
        jobs.retain(|job| {
            let mut held = redis::cmd("HEXISTS");
            held.arg("tender:normal:jobs").arg(job);
            deployment.redis.ask::<bool>(&held)
        });
        let waits = !jobs.is_empty() || deployment.postgres.psql(&deployment.database, &sql) != "0";
        if !waits {
            return killed.elapsed();
        }
        if killed.elapsed() > PATIENCE {
            stage.violation(format!("jobs of a killed worker were not run: {jobs:?}"));
            return killed.elapsed();
        }
        thread::park_timeout(LOOK);
    }
}
