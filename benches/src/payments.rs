//! Payments over a simulated network with 1-s ledgers, by processes over PostgreSQL and Redis. The network runs within
//! this program, so that the processes' own cost can be told.

use std::time::Duration;

use crate::Outcome;
use crate::crowd::{self, Closes, Crowd, PAYMENTS};
use crate::deployment::{Deployment, Servers};
use crate::process;
use crate::report::{Goal, Report, number, quantile};

/// Measures pools of several sizes, and single payments.
pub async fn measure(report: &mut Report) -> Outcome<()> {
    let servers = Servers::start();
    for channels in [10, 20, 50, 90] {
        let deployment = Deployment::start(&servers, channels).await?;
        let payer = &deployment.payer;
        let memory = servers.redis.memory();
        let closes = Closes::watch(&deployment.node);
        let before = Costs::now(&deployment)?;
        let posted = crowd::post_and_wait(payer).await?;
        let after = Costs::now(&deployment)?;
        let crowd = Crowd::look(payer, posted).await?;
        crowd.report(report, "processes", channels);
        costs(report, channels, &before, &after)?;
        let mut late = crowd.after_close(&closes);
        let name = format!("ledger close to confirmed, {channels} channels");
        report.note(format!("{name}, p50"), "ms", &[quantile(&mut late, 50)]);
        let p99 = quantile(&mut late, 99);
        report.judge(format!("{name}, p99"), "ms", &[p99], Goal::AtMost(500.0));
        if channels == 50 {
            memories(report, &deployment, &before, &after);
            let kept = servers.redis.memory().saturating_sub(memory);
            let mut keys = servers.redis.keys("*");
            // These two belong to the server and to the ledger, however many payments there are.
            keys.retain(|key| key != "tender:mark" && !key.starts_with("tender:reached:"));
            let name = format!("Redis keys left by {PAYMENTS} payments");
            report.judge(name, "keys", &[number(keys.len())], Goal::AtMost(0.0));
            let name = "Redis memory kept per finished payment";
            report.note(name, "bytes", &[count(kept)? / number(PAYMENTS)]);
            crowd::alone(report, "processes", payer).await?;
        }
    }
    Ok(())
}

fn count(number_of: u64) -> Outcome<f64> {
    Ok(number(number_of.try_into()?))
}

/// What the processes have cost so far.
struct Costs {
    processor: Vec<Duration>,
    resident: Vec<f64>,
    calls: u64,
}

impl Costs {
    fn now(deployment: &Deployment) -> Outcome<Self> {
        let ids = || deployment.processes.iter().map(|(_, process)| process.id());
        Ok(Self {
            calls: deployment.node.calls().values().sum(),
            processor: ids().map(process::processor_time).collect::<Outcome<_>>()?,
            resident: ids().map(process::resident).collect::<Outcome<_>>()?,
        })
    }

    fn processor(&self) -> Duration {
        self.processor.iter().sum()
    }
}

fn costs(report: &mut Report, channels: usize, before: &Costs, after: &Costs) -> Outcome<()> {
    let spent = after.processor().saturating_sub(before.processor());
    let each = spent.as_secs_f64() * 1000.0 / number(PAYMENTS);
    let name = format!("processor time per payment, processes, {channels} channels");
    report.judge(name, "ms", &[each], Goal::AtMost(3.0));
    let calls = count(after.calls - before.calls)? / number(PAYMENTS);
    let name = format!("RPC calls per confirmed payment, {channels} channels");
    if channels >= 50 {
        report.judge(name, "calls", &[calls], Goal::AtMost(1.1));
    } else {
        report.note(name, "calls", &[calls]);
    }
    Ok(())
}

fn memories(report: &mut Report, deployment: &Deployment, before: &Costs, after: &Costs) {
    let resident = before.resident.iter().zip(&after.resident);
    for ((name, _), (before, after)) in deployment.processes.iter().zip(resident) {
        let title = format!("resident memory of {name}, at start");
        report.judge(title, "MB", &[*before], Goal::AtMost(35.0));
        let title = format!("resident memory of {name}, after {PAYMENTS} payments");
        report.judge(title, "MB", &[*after], Goal::AtMost(60.0));
    }
}
