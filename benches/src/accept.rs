//! Durable accepts: how many a second, and how long each takes when they come at a fixed rate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tender::ledger::{Accepted, Ledger};
use tokio::task::JoinSet;

use crate::Outcome;
use crate::deployment::{Api, Servers, sqlite_url};
use crate::report::{Goal, Report, quantile};
use crate::web::{Run, closed_loop, open_loop};
use crate::work::{Template, fresh_ledger, posts};

/// Repetitions of each measurement.
const RUNS: usize = 3;
/// Length of a run.
const TIME: Duration = Duration::from_secs(2);
/// Before the first run: connections are made, statements prepared, caches filled.
const WARM_UP: Duration = Duration::from_secs(1);
/// Connections of a process by default.
const CONNECTIONS: u32 = 16;
/// Open connections when requests come at a fixed rate: enough that none waits for one.
const OPEN: usize = 128;

/// Measures both databases.
pub async fn measure(report: &mut Report) -> Outcome<()> {
    let servers = Servers::start();
    let directory = tempfile::tempdir()?;
    let of_sqlite = || sqlite_url(directory.path());
    for callers in [32, 64, 256] {
        let ledger = fresh_ledger(&servers.postgres.create_database(), CONNECTIONS).await?;
        at_the_ledger(report, "PostgreSQL", &ledger, callers).await?;
    }
    for callers in [32, 64, 256] {
        let ledger = fresh_ledger(&of_sqlite(), CONNECTIONS).await?;
        at_the_ledger(report, "SQLite", &ledger, callers).await?;
    }
    for (database, url) in [
        ("PostgreSQL", servers.postgres.create_database()),
        ("SQLite", of_sqlite()),
    ] {
        let api = Api::start(&url).await?;
        over_http(report, database, &api).await?;
    }
    Ok(())
}

async fn at_the_ledger(
    report: &mut Report,
    database: &str,
    ledger: &Ledger,
    callers: usize,
) -> Outcome<()> {
    accept_for(ledger, callers, WARM_UP).await?;
    let (mut rates, mut p99) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut run = accept_for(ledger, callers, TIME).await?;
        rates.push(run.per_second());
        p99.push(quantile(&mut run.latencies, 99));
    }
    let name = format!("accepts, {database}, {callers} callers at the ledger");
    if callers == 256 && database == "PostgreSQL" {
        report.judge(&name, "1/s", &rates, Goal::AtLeast(5_000.0));
    } else {
        report.note(&name, "1/s", &rates);
    }
    report.note(format!("{name}, p99"), "ms", &p99);
    Ok(())
}

/// Callers who accept one new key after another.
async fn accept_for(ledger: &Ledger, callers: usize, time: Duration) -> Outcome<Run> {
    let template = Arc::new(Template::new()?);
    let mut tasks = JoinSet::new();
    let began = Instant::now();
    for _ in 0..callers {
        let (ledger, template) = (ledger.clone(), Arc::clone(&template));
        tasks.spawn(async move {
            let mut latencies = Vec::new();
            while began.elapsed() < time {
                let new = template.fresh()?;
                let asked = Instant::now();
                match ledger.accept(new).await? {
                    Accepted::New(_) => latencies.push(asked.elapsed()),
                    Accepted::Existing(_) => return Err("a new key exists already".into()),
                }
            }
            Outcome::Ok(latencies)
        });
    }
    let mut run = Run::default();
    while let Some(latencies) = tasks.join_next().await {
        run.latencies.extend(latencies??);
    }
    run.elapsed = began.elapsed();
    Ok(run)
}

async fn over_http(report: &mut Report, database: &str, api: &Api) -> Outcome<()> {
    let requests = posts(&api.key);
    closed_loop(api.address, 64, WARM_UP, Arc::clone(&requests)).await?;
    for connections in [32, 64, 256] {
        let mut rates = Vec::new();
        for _ in 0..RUNS {
            let run = closed_loop(api.address, connections, TIME, Arc::clone(&requests)).await?;
            rates.push(run.per_second());
        }
        let name = format!("accepts, {database}, {connections} connections over HTTP");
        report.note(name, "1/s", &rates);
    }
    for rate in [500, 1_000] {
        let (mut p50, mut p99) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let mut run =
                open_loop(api.address, OPEN, rate, 2 * TIME, Arc::clone(&requests)).await?;
            p50.push(quantile(&mut run.latencies, 50));
            p99.push(quantile(&mut run.latencies, 99));
        }
        let name = format!("accept answer, {database}, {rate}/s over HTTP");
        report.judge(format!("{name}, p50"), "ms", &p50, Goal::AtMost(6.0));
        report.judge(format!("{name}, p99"), "ms", &p99, Goal::AtMost(20.0));
    }
    Ok(())
}
