//! Many payments at once, and single ones: what their callers and the chain saw of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tender::domain::classify::Fault;
use tender::domain::submission::Status;
use tender::ledger::{Cursor, Ledger, ListFilter, Submission};
use tender_devnet::node::DevNode;
use tokio::task::{JoinHandle, JoinSet};

use crate::Outcome;
use crate::deployment::{CLOSE, Payer};
use crate::report::{Goal, Report, number, quantile};
use crate::web::{self, Connection};
use crate::work::body;

/// Payments asked for at once.
pub const PAYMENTS: usize = 500;
/// Payments made alone, one after another.
const ALONE: usize = 20;
/// Clients that post.
const CLIENTS: usize = 8;
/// The run gives up when it takes longer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Pause between two looks at the progress.
const PROGRESS: Duration = Duration::from_millis(200);
/// Rows read at once.
const PAGE: u64 = 200;

/// Unix time in milliseconds. The databases' clocks are this machine's.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

fn millis(time: i64) -> Duration {
    Duration::from_millis(u64::try_from(time).unwrap_or(0))
}

/// When each ledger closed, from now on.
pub struct Closes {
    at: Arc<Mutex<BTreeMap<u32, i64>>>,
    task: JoinHandle<()>,
}

impl Closes {
    pub fn watch(node: &DevNode) -> Self {
        let (at, mut closed) = (Arc::<Mutex<BTreeMap<_, _>>>::default(), node.latest());
        let noted = Arc::clone(&at);
        let task = tokio::spawn(async move {
            while closed.changed().await.is_ok() {
                let sequence = closed.borrow_and_update().sequence;
                let mut at = noted.lock().unwrap_or_else(PoisonError::into_inner);
                at.insert(sequence, now());
            }
        });
        Self { at, task }
    }

    /// Unix time in milliseconds, if it closed since.
    pub fn of(&self, ledger: u32) -> Option<i64> {
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.get(&ledger).copied()
    }
}

impl Drop for Closes {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What became of many payments.
pub struct Crowd {
    /// When each was posted, by its key.
    posted: HashMap<String, i64>,
    /// The rows, all confirmed.
    rows: Vec<Submission>,
    /// The ledger of each effect on the chain, in the order of the rows.
    ledgers: Vec<u32>,
}

/// Posts all payments as fast as they are accepted, and waits until the last is confirmed.
pub async fn post_and_wait(payer: &Payer) -> Outcome<HashMap<String, i64>> {
    let before = confirmed(&payer.ledger).await?;
    let next = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (next, payees, key) = (Arc::clone(&next), payer.payees.clone(), payer.key.clone());
        let mut connection = Connection::open(payer.api).await?;
        clients.spawn(async move {
            let mut posted = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(payee) = payees.get(n % payees.len()).filter(|_| n < PAYMENTS) else {
                    return Outcome::Ok(posted);
                };
                let name = uuid::Uuid::new_v4().to_string();
                let text = body(*payee, n).to_string();
                posted.push((name.clone(), now()));
                let answer = connection
                    .ask(&web::post("/transactions", &key, &name, &text))
                    .await?;
                if answer.status >= 300 {
                    return Err(format!("a payment was refused with {}", answer.status).into());
                }
            }
        });
    }
    let mut posted = HashMap::new();
    while let Some(part) = clients.join_next().await {
        posted.extend(part??);
    }
    let began = Instant::now();
    while confirmed(&payer.ledger).await? < before + PAYMENTS as u64 {
        if began.elapsed() > PATIENCE {
            return Err("the payments took too long".into());
        }
        tokio::time::sleep(PROGRESS).await;
    }
    Ok(posted)
}

async fn confirmed(ledger: &Ledger) -> Outcome<u64> {
    let counts = ledger.counts().await?;
    if let Some(failed) = counts.iter().find(|it| it.0 == Status::Failed) {
        return Err(format!("{} payments failed", failed.2).into());
    }
    let confirmed = counts.iter().filter(|it| it.0 == Status::Confirmed);
    Ok(confirmed.map(|it| it.2).sum())
}

impl Crowd {
    /// Reads what the ledger and the chain say of the payments, which must be the same.
    pub async fn look(payer: &Payer, posted: HashMap<String, i64>) -> Outcome<Self> {
        let mut rows = all_rows(&payer.ledger).await?;
        rows.retain(|row| posted.contains_key(row.key.as_str()));
        let mut effects = HashMap::new();
        let transactions = payer.rpc.transactions_from(2).await;
        for transaction in transactions.map_err(Fault::code)? {
            if let Some(tag) = transaction.inspected.tag.filter(|_| transaction.success)
                && effects.insert(tag, transaction.ledger).is_some()
            {
                return Err("a payment took effect twice".into());
            }
        }
        let ledgers: Option<Vec<u32>> = rows
            .iter()
            .map(|row| effects.get(&row.tag).copied())
            .collect();
        Ok(Self {
            posted,
            rows,
            ledgers: ledgers.ok_or("a confirmed payment has no effect on the chain")?,
        })
    }

    /// Payments of each ledger at whose start there were more waiting than channels. The first ledger is left out:
    /// payments were still being posted.
    fn per_full_ledger(&self, channels: usize) -> f64 {
        let mut counts = BTreeMap::<u32, usize>::new();
        for ledger in &self.ledgers {
            *counts.entry(*ledger).or_default() += 1;
        }
        let Some((first, count)) = counts.pop_first() else {
            return 0.0;
        };
        let (mut waiting, mut full, mut paid) = (PAYMENTS - count, 0, 0);
        let mut ledger = first + 1;
        while waiting >= channels {
            let count = counts.get(&ledger).copied().unwrap_or(0);
            (waiting, paid, full, ledger) = (waiting - count, paid + count, full + 1, ledger + 1);
        }
        number(paid) / number(full)
    }

    /// Adds what callers saw.
    pub fn report(&self, report: &mut Report, by: &str, channels: usize) {
        let name = format!("payments per ledger, {by}, {channels} channels, {PAYMENTS} waiting");
        let least = (number(channels) * 0.99).floor();
        let per_ledger = self.per_full_ledger(channels);
        report.judge(name, "1/ledger", &[per_ledger], Goal::AtLeast(least));
        let mut times: Vec<_> = self
            .rows
            .iter()
            .filter_map(|row| Some(millis(row.updated_at - self.posted.get(row.key.as_str())?)))
            .collect();
        let name = format!("POST to confirmed, {by}, {channels} channels, {PAYMENTS} waiting");
        let (p50, p99) = (quantile(&mut times, 50), quantile(&mut times, 99));
        if channels == 20 {
            report.judge(format!("{name}, p50"), "ms", &[p50], Goal::AtMost(14_000.0));
            report.judge(format!("{name}, p99"), "ms", &[p99], Goal::AtMost(27_000.0));
        } else {
            report.note(format!("{name}, p50"), "ms", &[p50]);
            report.note(format!("{name}, p99"), "ms", &[p99]);
        }
    }

    /// From the close of its ledger to the confirmation of each row.
    pub fn after_close(&self, closes: &Closes) -> Vec<Duration> {
        let rows = self.rows.iter().zip(&self.ledgers);
        rows.filter_map(|(row, ledger)| Some(millis(row.updated_at - closes.of(*ledger)?)))
            .collect()
    }
}

async fn all_rows(ledger: &Ledger) -> Outcome<Vec<Submission>> {
    let (mut rows, mut after) = (Vec::new(), None::<Cursor>);
    loop {
        let (page, next) = ledger.list(&ListFilter::default(), after, PAGE).await?;
        rows.extend(page);
        match next {
            Some(next) => after = Some(next),
            None => return Ok(rows),
        }
    }
}

/// Payments with nothing else under way, posted at random moments between two ledgers, each timed until its caller,
/// who waits at its status, sees it confirmed.
pub async fn alone(report: &mut Report, by: &str, payer: &Payer) -> Outcome<()> {
    let mut connection = Connection::open(payer.api).await?;
    let mut times = Vec::new();
    for n in 0..ALONE {
        tokio::time::sleep(CLOSE.mul_f64(rand::random())).await;
        let payee = payer.payees.first().ok_or("a payee")?;
        let name = uuid::Uuid::new_v4().to_string();
        let text = body(*payee, n).to_string();
        let request = web::post("/transactions", &payer.key, &name, &text);
        let began = Instant::now();
        let accepted = connection.ask(&request).await?.json()?;
        let id = accepted["id"]
            .as_str()
            .ok_or("an accepted payment has an id")?;
        let path = format!("/transactions/{id}/status?wait=10");
        loop {
            let seen = connection.ask(&web::get(&path)).await?.json()?;
            let status = seen["status"].as_str().unwrap_or_default();
            if status.eq_ignore_ascii_case("confirmed") {
                break;
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("a single payment is still {status}").into());
            }
        }
        times.push(began.elapsed());
    }
    let name = format!("POST to confirmed, {by}, nothing else under way");
    let p50 = quantile(&mut times, 50);
    report.judge(format!("{name}, p50"), "ms", &[p50], Goal::AtMost(1_000.0));
    report.note(
        format!("{name}, slowest of {ALONE}"),
        "ms",
        &[quantile(&mut times, 100)],
    );
    Ok(())
}
