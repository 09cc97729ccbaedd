//! Afterwards: everything is let to end, and then the chain and the ledger are read and held against each other and
//! against what callers were told.

use std::collections::{BTreeMap, HashMap};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use tender::domain::submission::Status;
use tender_devnet::faults::FaultPlan;

use crate::audit::Audit;
use crate::deployment::Deployment;
use crate::legal;
use crate::load::Book;
use crate::rows::{self, Line, Row};
use crate::stage::Stage;

/// How long everything may take to end once nothing goes wrong any more.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(100);

/// What was found. Everything but `keys`, `effects`, `rows`, `events` and `drain_s` must be zero.
#[derive(Debug, Default, Serialize)]
pub struct Findings {
    /// Keys whose payment is confirmed.
    pub keys: usize,
    /// Effects on the chain.
    pub effects: usize,
    /// Effects of a key beyond its first.
    pub doubled: usize,
    /// Confirmed keys without effect.
    pub missing: usize,
    /// Effects of other amounts or to other accounts.
    pub wrong: usize,
    /// Effects of keys that are not confirmed, or that nobody pushed.
    pub strangers: usize,
    /// Keys that a caller was told to be accepted and that have no row.
    pub lost: usize,
    /// Rows that have not ended.
    pub stuck: usize,
    /// Accounts that are not back in the pool, or stand elsewhere than on the chain, and rows that hold a pair at rest.
    pub leaked: usize,
    /// Log lines that the rules do not allow, or that do not follow each other.
    pub illegal: usize,
    /// Rows whose outcome the chain does not bear out.
    pub unproven: usize,
    /// Rows by status.
    pub rows: BTreeMap<String, usize>,
    /// Transitions by event, as the log has them.
    pub events: BTreeMap<String, usize>,
    /// Seconds until everything had ended. Rows of unknown outcome are looked up every half-minute only.
    pub drain_s: f32,
}

/// Lets everything end, and reads.
pub fn drain_and_audit(stage: &Stage, deployment: &Deployment) -> Findings {
    let began = Instant::now();
    let roles = ["api", "worker", "worker", "reconciler", "reconciler"];
    deployment.node.set_faults(FaultPlan::none());
    let running = roles.map(|role| stage.role(role));
    while open(deployment) > 0 && began.elapsed() < PATIENCE {
        thread::park_timeout(LOOK);
    }
    drop(running);
    let mut findings = Findings {
        drain_s: began.elapsed().as_secs_f32(),
        ..Findings::default()
    };
    let (rows, log) = (rows::rows(deployment), rows::log(deployment));
    let book = stage.accepted.book();
    for wrong in &book.wrong {
        stage.violation(wrong.clone());
    }
    let audit = deployment.audit();
    findings.pushed(stage, &book, &rows);
    findings.compare(&audit, &book, &rows);
    findings.evidence(stage, deployment, &audit, &book, &rows);
    for row in rows.values() {
        *findings.rows.entry(row.status.clone()).or_default() += 1;
        findings.history(stage, row, log.get(&row.id).map_or(&[], Vec::as_slice));
    }
    findings.pool(stage, deployment);
    findings
}

fn open(deployment: &Deployment) -> u64 {
    let sql = "SELECT count(*) FROM submission_ledger WHERE status IN ('pending', 'building', 'submitted', 'confirming')";
    let count = deployment.postgres.psql(&deployment.database, sql);
    count.parse().expect("a number")
}

fn is_terminal(row: &Row) -> bool {
    let status = Status::ALL
        .into_iter()
        .find(|status| status.as_str() == row.status);
    status.is_some_and(Status::is_terminal)
}

type Rows = BTreeMap<String, Row>;

impl Findings {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        let wrong = [
            self.doubled,
            self.missing,
            self.wrong,
            self.strangers,
            self.lost,
        ];
        let broken = [self.stuck, self.leaked, self.illegal, self.unproven];
        wrong.iter().chain(&broken).all(|count| *count == 0) && self.keys == self.effects
    }

    /// Every key that was accepted has its row.
    fn pushed(&mut self, stage: &Stage, book: &Book, rows: &Rows) {
        for accepted in book.rows.values() {
            let key = accepted.payment.key();
            let row = rows
                .get(&accepted.id)
                .filter(|row| row.idempotency_key == key.as_str());
            if row.is_none() {
                self.lost += 1;
                stage.violation(format!("lost: {} of {}", accepted.id, key.as_str()));
            }
        }
        self.lost += rows.len().abs_diff(book.rows.len());
    }

    /// Every confirmed key has one effect, and nobody else has any.
    fn compare(&mut self, audit: &Audit, book: &Book, rows: &Rows) {
        let confirmed = book.rows.values().filter(|accepted| {
            rows.get(&accepted.id)
                .is_some_and(|row| row.status == "confirmed")
        });
        let expected: Vec<_> = confirmed
            .map(|accepted| accepted.payment.expected())
            .collect();
        let figures = audit.compare(&expected);
        self.keys = figures.keys;
        self.effects = figures.effects;
        self.doubled = figures.doubled;
        self.missing = figures.missing;
        self.wrong = figures.wrong;
        self.strangers = figures.strangers;
    }

    /// What decided a row is on the chain, where the row says.
    fn evidence(
        &mut self,
        stage: &Stage,
        deployment: &Deployment,
        audit: &Audit,
        book: &Book,
        rows: &Rows,
    ) {
        let applied = applied(deployment);
        for accepted in book.rows.values() {
            let Some(row) = rows.get(&accepted.id) else {
                continue;
            };
            let effects = audit.of_key(accepted.payment.expected().tag);
            let transaction = row.tx_hash.as_ref().and_then(|hash| applied.get(hash));
            let holds = match row.status.as_str() {
                "confirmed" => transaction.is_some_and(|(ledger, success)| {
                    *success && effects.iter().any(|effect| effect.ledger == *ledger)
                }),
                "failed" => effects.is_empty() && transaction.is_none_or(|(_, success)| !success),
                "cancelled" => effects.is_empty(),
                _ => true,
            };
            if !holds {
                self.unproven += 1;
                stage.violation(format!("unproven: {row:?}, effects {effects:?}"));
            }
        }
    }

    /// Every line of the log is a transition of the rules, follows the one before, and the last one led to the row.
    fn history(&mut self, stage: &Stage, row: &Row, lines: &[Line]) {
        let legal = legal::transitions();
        let (mut status, mut version) = ("pending", 0);
        for line in lines {
            *self.events.entry(line.event.clone()).or_default() += 1;
            let allowed = legal.contains_transition(line);
            if !allowed || line.from_status != status || line.version != version + 1 {
                self.illegal += 1;
                stage.violation(format!("illegal after {status} {version}: {line:?}"));
            }
            (status, version) = (line.to_status.as_str(), line.version);
        }
        if (status, version) != (row.status.as_str(), row.version) {
            self.illegal += 1;
            stage.violation(format!("the log ends at {status} {version}: {row:?}"));
        }
        if !is_terminal(row) || row.verdict == "INDETERMINATE" {
            self.stuck += 1;
            stage.violation(format!("stuck: {row:?}, {lines:?}"));
        }
        if row.pair_held && is_terminal(row) {
            self.leaked += 1;
            stage.violation(format!("holds a pair at rest: {row:?}"));
        }
    }

    /// Every account is free, and stands where the chain says.
    fn pool(&mut self, stage: &Stage, deployment: &Deployment) {
        let pool = stage
            .wait(stage.ledger.pool())
            .expect("the database answers");
        let all: u64 = deployment.settings["STELLAR_CHANNEL_COUNT"]
            .parse()
            .expect("a number");
        let away = all.saturating_sub(pool.free);
        if away > 0 || pool.leased + pool.quarantined > 0 {
            self.leaked += usize::try_from(away.max(1)).unwrap_or(usize::MAX);
            stage.violation(format!("of {all} accounts: {pool:?}"));
        }
        let verified = stage.launch(&["channels", "verify"]).run();
        if !verified.status.success() {
            self.leaked += 1;
            stage.violation(format!(
                "the pool and the chain disagree: {:?}",
                verified.stdout
            ));
        }
    }
}

trait Knows {
    fn contains_transition(&self, line: &Line) -> bool;
}

impl Knows for std::collections::BTreeSet<legal::Transition> {
    fn contains_transition(&self, line: &Line) -> bool {
        self.iter().any(|(from, event, to)| {
            (*from, *event, *to) == (&*line.from_status, &*line.event, &*line.to_status)
        })
    }
}

/// Ledger and success of every transaction, by each of its hashes.
fn applied(deployment: &Deployment) -> HashMap<String, (u32, bool)> {
    deployment.node.inspect(|network| {
        let mut applied = HashMap::new();
        for ledger in network.ledgers() {
            for transaction in &ledger.transactions {
                let outcome = (ledger.sequence(), transaction.is_success());
                let hashes = [Some(&transaction.hash), transaction.inner_hash.as_ref()];
                applied.extend(
                    hashes
                        .into_iter()
                        .flatten()
                        .map(|hash| (hex::encode(hash.0), outcome)),
                );
            }
        }
        applied
    })
}
