//! Demo: payments over a network that loses answers, and a count of what the chain says.

mod audit;
mod load;
mod report;

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use secrecy::ExposeSecret as _;
use tender_devnet::faults::{FaultPlan, Loss};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::dev::announce;
use super::embedded::{self, EmbeddedError, Setup, Stack, TENANT};
use crate::config::EmbeddedConfig;
use crate::domain::classify::Fault;
use crate::domain::key::{KeyTag, Tenant};
use crate::domain::submission::Status;
use crate::ledger::{Cursor, LedgerError, ListFilter, Submission};
use load::{Accepted, Load};
pub use report::Report;
use report::{KeyTimes, Observations};

/// Accounts that are paid.
const PAYEES: u32 = 25;
/// Pause between two looks at the progress.
const PROGRESS: Duration = Duration::from_millis(100);
/// The demonstration gives up when nothing was settled for so many envelope lives.
const PATIENCE: u32 = 8;
/// Rows read at once.
const PAGE: u64 = 200;

/// What is demonstrated.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// Payments, each with a key of its own.
    pub payments: u32,
    /// Requests that repeat an earlier one.
    pub duplicates: u32,
    /// Channel accounts.
    pub channels: u32,
    /// Sends in a thousand whose answer is lost.
    pub loss: u16,
    /// Time between two ledgers.
    pub close: Duration,
    /// Whether a person watches.
    pub watched: bool,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The stack did not come up.
    #[error(transparent)]
    Start(#[from] EmbeddedError),
    /// Payees could not be created.
    #[error(transparent)]
    Provision(#[from] crate::flow::provision::ProvisionError),
    /// A temporary directory could not be made.
    #[error("temporary directory: {0}")]
    Directory(std::io::Error),
    /// A payment was refused.
    #[error("a payment was refused: {0}")]
    Refused(String),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The chain could not be read.
    #[error("the chain could not be read: {}", .0.code())]
    Chain(Fault),
    /// Told to end before there was a report.
    #[error("interrupted: there is no report")]
    Interrupted,
    /// Payments stayed undecided.
    #[error("{0} payments stayed undecided")]
    Undecided(u64),
}

/// Runs the demonstration; with `stay` the stack stays up afterwards until shutdown.
///
/// # Errors
/// See [`DemoError`]; in any case nothing is left behind.
pub async fn run(
    config: &EmbeddedConfig,
    demo: Demonstration,
    stay: bool,
    shutdown: &CancellationToken,
) -> Result<Report, DemoError> {
    let directory = tempfile::tempdir().map_err(DemoError::Directory)?;
    let database = directory.path().join("tender.sqlite");
    let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let setup = Setup {
        database: &database,
        channels: demo.channels,
        close: demo.close,
        bind,
    };
    let starting = Box::pin(Stack::start(config, setup, shutdown));
    let stack = uninterrupted(shutdown, starting).await?;
    let report = uninterrupted(shutdown, Box::pin(demonstrate(config, demo, &stack))).await;
    match report {
        Ok(report) if stay => {
            println!("\n{report}");
            announce(&stack);
            stack.run().await?;
            Ok(report)
        }
        ended => {
            stack.stop().await;
            ended
        }
    }
}

/// Whatever fails once the end was asked for may have failed because of that.
async fn uninterrupted<T, E: Into<DemoError>>(
    shutdown: &CancellationToken,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, DemoError> {
    match shutdown.run_until_cancelled(work).await {
        Some(Ok(done)) => Ok(done),
        Some(Err(_)) | None if shutdown.is_cancelled() => Err(DemoError::Interrupted),
        Some(Err(error)) => Err(error.into()),
        None => Err(DemoError::Interrupted),
    }
}

async fn demonstrate(
    config: &EmbeddedConfig,
    demo: Demonstration,
    stack: &Stack,
) -> Result<Report, DemoError> {
    let payees: Vec<_> = (0..PAYEES.min(demo.payments))
        .map(|_| embedded::fresh_signer().account())
        .collect();
    stack.create_accounts(&payees).await?;
    let tenant: Tenant = TENANT
        .parse()
        .map_err(|_| DemoError::Refused(TENANT.to_owned()))?;
    let load = Load {
        url: stack.api_url.clone(),
        api_key: stack.api_key.expose_secret().to_owned(),
        tenant,
        payees,
        payments: demo.payments,
        duplicates: demo.duplicates,
    };
    stack.node.set_faults(FaultPlan::seeded(
        rand::random(),
        demo.loss,
        &[Loss::Reset, Loss::GatewayTimeout],
    ));
    let calls_before = calls(stack);
    let first_ledger = stack.node.latest().borrow().sequence;
    let started = Instant::now();
    let closes = audit::watch_closes(&stack.node, started);
    let posting = AbortOnDropHandle::new(tokio::spawn(load.post_all()));
    let posted = async {
        let posted = posting.await;
        posted.unwrap_or_else(|error| Err(DemoError::Refused(error.to_string())))
    };
    // Whichever fails first ends both: nobody waits for payments that were never posted.
    let decided = wait_until_decided(demo, stack, config.submit.window);
    let (accepted, ()) = tokio::try_join!(posted, decided)?;
    let elapsed = started.elapsed();
    let lost = stack.node.faults();
    stack.node.set_faults(FaultPlan::none());
    let rpc_calls = calls(stack) - calls_before;
    let rows = rows(stack).await?;
    Ok(Report::work_out(&Observations {
        payments: demo.payments,
        posts: demo.payments + demo.duplicates,
        channels: demo.channels,
        answers_lost: lost.before_accept + lost.after_accept,
        answers_lost_after_accept: lost.after_accept,
        keys: key_times(&rows, &accepted, started),
        effects: audit::effects(&stack.rpc, first_ledger + 1)
            .await
            .map_err(DemoError::Chain)?,
        closes: closes.stop().await,
        failed: failed(&rows),
        rpc_calls,
        elapsed,
    }))
}

fn calls(stack: &Stack) -> u64 {
    stack.rpc.calls().into_iter().map(|(_, count)| count).sum()
}

/// Waits until every payment was posted and decided, and shows how far it is.
async fn wait_until_decided(
    demo: Demonstration,
    stack: &Stack,
    window: Duration,
) -> Result<(), DemoError> {
    let total = u64::from(demo.payments);
    let bar = if demo.watched {
        ProgressBar::new(total).with_style(style())
    } else {
        ProgressBar::hidden()
    };
    let (mut last, mut moved) = (0, Instant::now());
    loop {
        let counts = stack.ledger.counts().await?;
        let decided = counts
            .iter()
            .filter(|(status, _, _)| status.is_terminal())
            .map(|(_, _, count)| count)
            .sum();
        if decided != last {
            (last, moved) = (decided, Instant::now());
        }
        bar.set_position(decided);
        if decided >= total {
            bar.finish_and_clear();
            return Ok(());
        }
        if moved.elapsed() > window * PATIENCE {
            return Err(DemoError::Undecided(total - decided));
        }
        tokio::time::sleep(PROGRESS).await;
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("  {bar:40} {pos}/{len} payments decided, {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Every row of the ledger.
async fn rows(stack: &Stack) -> Result<Vec<Submission>, DemoError> {
    let (mut rows, mut after) = (Vec::new(), None::<Cursor>);
    loop {
        let (page, next) = stack
            .ledger
            .list(&ListFilter::default(), after, PAGE)
            .await?;
        rows.extend(page);
        match next {
            Some(next) => after = Some(next),
            None => return Ok(rows),
        }
    }
}

/// Accepted as the clients saw it; from there to confirmed by the ledger's own times. A key without a row is missing.
fn key_times(
    rows: &[Submission],
    accepted: &Accepted,
    started: Instant,
) -> HashMap<KeyTag, KeyTimes> {
    let rows: HashMap<_, _> = rows.iter().map(|row| (row.tag, row)).collect();
    let times = |(tag, at): (&KeyTag, &Instant)| {
        let accepted = at.duration_since(started);
        let row = rows.get(tag);
        let status = row.map(|row| row.state.status);
        let took = row.map_or(0, |row| {
            u64::try_from(row.updated_at - row.created_at).unwrap_or(0)
        });
        let confirmed = accepted + Duration::from_millis(took);
        let times = KeyTimes {
            accepted,
            confirmed: (status == Some(Status::Confirmed)).then_some(confirmed),
            failed: status == Some(Status::Failed),
        };
        (*tag, times)
    };
    accepted.iter().map(times).collect()
}

fn failed(rows: &[Submission]) -> BTreeMap<String, u64> {
    let mut failed = BTreeMap::new();
    for category in rows.iter().filter_map(|row| row.state.category) {
        *failed.entry(category.as_str().to_owned()).or_default() += 1;
    }
    failed
}
