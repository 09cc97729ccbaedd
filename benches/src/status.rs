//! Polling: how many answers about the status of a payment a second.

use std::sync::Arc;
use std::time::Duration;

use crate::Outcome;
use crate::deployment::{Api, Servers, sqlite_url};
use crate::process;
use crate::report::{Goal, Report, number, quantile};
use crate::web::{self, Connection, closed_loop};
use crate::work::posts;

const RUNS: usize = 3;
const TIME: Duration = Duration::from_secs(2);
const CONNECTIONS: usize = 32;
/// Payments whose status is asked for in turn.
const PAYMENTS: usize = 100;

pub async fn measure(report: &mut Report) -> Outcome<()> {
    let servers = Servers::start();
    let directory = tempfile::tempdir()?;
    for (database, url) in [
        ("PostgreSQL", servers.postgres.create_database()),
        ("SQLite", sqlite_url(directory.path())),
    ] {
        let api = Api::start(&url).await?;
        polls(report, database, &api).await?;
    }
    Ok(())
}

async fn polls(report: &mut Report, database: &str, api: &Api) -> Outcome<()> {
    let (mut connection, post) = (Connection::open(api.address).await?, posts(&api.key));
    let mut asks = Vec::new();
    for n in 0..PAYMENTS {
        let answer = connection.ask(&post(n)).await?.json()?;
        let id = answer["id"]
            .as_str()
            .ok_or("an accepted payment has an id")?;
        asks.push(web::get(&format!("/transactions/{id}/status")));
    }
    let requests: web::Requests =
        Arc::new(move |n| asks.get(n % PAYMENTS).cloned().unwrap_or_default());
    closed_loop(api.address, CONNECTIONS, TIME / 2, Arc::clone(&requests)).await?;
    let (mut rates, mut p99, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let before = process::processor_time(api.process.id())?;
        let mut run = closed_loop(api.address, CONNECTIONS, TIME, Arc::clone(&requests)).await?;
        let spent = process::processor_time(api.process.id())?.saturating_sub(before);
        rates.push(run.per_second());
        costs.push(spent.as_secs_f64() * 1e6 / number(run.latencies.len()));
        p99.push(quantile(&mut run.latencies, 99));
    }
    let name = format!("status polls, {database}, {CONNECTIONS} connections");
    report.judge(&name, "1/s", &rates, Goal::AtLeast(15_000.0));
    report.note(format!("{name}, p99"), "ms", &p99);
    report.note(format!("{name}, processor time of the api"), "us", &costs);
    Ok(())
}
