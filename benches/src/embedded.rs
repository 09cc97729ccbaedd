//! Payments by the embedded stack: API, worker, reconciler, SQLite and the simulated network in one process. What it
//! costs includes the network.

use crate::Outcome;
use crate::crowd::{self, Crowd, PAYMENTS};
use crate::deployment::{CLOSE, Payer};
use crate::process;
use crate::report::{Report, number};
use crate::support::port;
use crate::support::process::{Process, tender};
use crate::web;

const CHANNELS: usize = 50;
/// Connections of this program's own, to look at the ledger with.
const CONNECTIONS: u32 = 1;

pub async fn measure(report: &mut Report) -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("ledger.sqlite");
    let address = format!("127.0.0.1:{}", port::free());
    let stack = tender(&[
        "dev",
        "--channels",
        &CHANNELS.to_string(),
        "--close-ms",
        &CLOSE.as_millis().to_string(),
        "--database",
        &file.display().to_string(),
    ])
    .env("HTTP_BIND", &address)
    .env("HTTP_RATE_LIMIT_PER_SECOND", "1000000")
    .start();
    let (rpc_url, key) = tokio::task::block_in_place(|| -> Outcome<_> {
        Ok((announced(&stack, "network")?, announced(&stack, "key")?))
    })?;
    let url = format!("sqlite://{}", file.display());
    let ledger = tender::ledger::Ledger::connect(&url, CONNECTIONS, crate::work::rules()).await?;
    let api = web::address(&format!("http://{address}"))?;
    let passphrase = tender::role::embedded::PASSPHRASE;
    let payer = Payer::new((api, &key), ledger, &rpc_url, passphrase).await?;

    let at_start = process::resident(stack.id())?;
    let before = process::processor_time(stack.id())?;
    let posted = crowd::post_and_wait(&payer).await?;
    let spent = process::processor_time(stack.id())?.saturating_sub(before);
    let after = process::resident(stack.id())?;
    let crowd = Crowd::look(&payer, posted).await?;
    crowd.report(report, "embedded", CHANNELS);
    let each = spent.as_secs_f64() * 1000.0 / number(PAYMENTS);
    let name = "processor time per payment, embedded, network included";
    report.note(name, "ms", &[each]);
    let name = "resident memory, embedded, network included, at start";
    report.note(name, "MB", &[at_start]);
    let name = format!("resident memory, embedded, network included, after {PAYMENTS} payments");
    report.note(name, "MB", &[after]);
    crowd::alone(report, "embedded", &payer).await
}

/// The second word of the line that begins with `what`.
fn announced(stack: &Process, what: &str) -> Outcome<String> {
    let begins = |line: &str| line.trim_start().starts_with(&format!("{what} "));
    let line = stack.log().wait_for(begins, crate::support::PATIENCE);
    let word = line
        .as_deref()
        .and_then(|line| line.split_whitespace().nth(1));
    Ok(word.ok_or("the stack did not come up")?.to_owned())
}
