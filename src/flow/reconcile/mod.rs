//! Reconcile: converges the ledger to the chain. It takes no input but the leases and the chain, so any number of
//! processes may run it at any time: each transition is compare-and-set, and the loser of a race wastes a call.
//!
//! One pass: settle what the treasury's events name, then hold the rest against one snapshot of their accounts, then do
//! what [`crate::domain::plan`] says. Beside the passes, rows of unknown outcome are looked up again from time to time.

mod aside;
mod assess;
mod consumer;
mod evidence;
mod landed;
mod late;
mod look_up;
mod memory;
mod progress;
mod scans;
mod steps;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::chain::Chain;
use super::send::Sender;
use crate::domain::classify::Fault;
use crate::ledger::{Applied, Change, Ledger, LedgerError};
use crate::stellar::keyring::Identity;
use crate::stellar::rpc::Rpc;
use crate::stellar::signer::Signer;
use aside::Aside;
use assess::Assessed;
use landed::Landings;
use scans::Scans;

/// Shortest pause between two looks at the chain.
const SHORTEST_POLL: Duration = Duration::from_millis(100);
/// Steps carried out at once: each is a few calls and a transition.
const STEPS_AT_ONCE: usize = 8;
/// Rows settled under one commit.
const SETTLED_AT_ONCE: usize = 200;

/// Settles rows and gives pairs back, on evidence.
pub struct Reconciler {
    ledger: Ledger,
    rpc: Rpc,
    sender: Arc<Sender>,
    identity: Identity,
    fee_source: Signer,
    chain: Arc<Chain>,
    settings: ReconcileSettings,
    landed: tokio::sync::Mutex<Landings>,
    aside: Aside,
    scans: Scans,
    watchers: progress::Watchers,
    compared: memory::Compared,
}

/// Bounds of the reconciler.
#[derive(Clone, Copy, Debug)]
pub struct ReconcileSettings {
    /// Longest pause between two passes.
    pub interval: Duration,
    /// The network's usual time from one ledger to the next.
    pub close_time: Duration,
    /// Highest total fee of a fee-bump, in stroops.
    pub max_fee: i64,
}

/// What a pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows that hold a pair.
    pub leases: usize,
    /// Rows that were settled or set back, so that capacity came free.
    pub settled: usize,
    /// Envelopes sent again.
    pub resent: usize,
    /// Rows, or all of them, that could not be dealt with: the next pass tries again.
    pub faults: usize,
}

/// Why something was not done. Nothing is lost: the next pass starts from the ledger and the chain again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The network did not answer.
    #[error("the network did not answer: {}", .0.code())]
    Network(Fault),
    /// Nobody can tell what the ledger may have forgotten.
    #[error("the ledger's memory: {0}")]
    Memory(String),
}

impl From<Fault> for ReconcileError {
    fn from(fault: Fault) -> Self {
        Self::Network(fault)
    }
}

impl Reconciler {
    /// A reconciler over these parts.
    #[must_use]
    pub fn new(
        ledger: Ledger,
        sender: Arc<Sender>,
        identity: Identity,
        fee_source: Signer,
        chain: Arc<Chain>,
        settings: ReconcileSettings,
    ) -> Self {
        let rpc = sender.rpc().clone();
        Self {
            ledger,
            scans: Scans::new(&rpc),
            rpc,
            sender,
            identity,
            fee_source,
            chain,
            settings,
            landed: tokio::sync::Mutex::default(),
            aside: Aside::default(),
            watchers: progress::Watchers::default(),
            compared: memory::Compared::default(),
        }
    }

    /// Runs until cancelled. `freed` is notified whenever capacity came free.
    pub async fn run(&self, freed: &Notify, shutdown: &CancellationToken) {
        futures::future::join(
            self.pass_again_and_again(freed, shutdown),
            self.look_up_late(freed, shutdown),
        )
        .await;
        self.aside.finish().await;
    }

    async fn pass_again_and_again(&self, freed: &Notify, shutdown: &CancellationToken) {
        let mut passed = None::<(u32, Instant)>;
        while !shutdown.is_cancelled() {
            let pause = match self.round(passed).await {
                Ok(Some((ledger, report))) => {
                    passed = Some((ledger, Instant::now()));
                    self.passed(&report).await;
                    if report.settled > 0 {
                        freed.notify_one();
                    }
                    self.pause(passed)
                }
                Ok(None) => self.pause(passed),
                Err(error) => {
                    tracing::warn!(%error, "the reconciler will look again");
                    self.settings.interval
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Until shortly before the next ledger is expected, then in short steps: few calls, and settled soon after a close.
    fn pause(&self, passed: Option<(u32, Instant)>) -> Duration {
        let shortest = SHORTEST_POLL.min(self.settings.interval);
        let expected = passed.map_or(Duration::ZERO, |(_, at)| {
            (self.settings.close_time * 9 / 10).saturating_sub(at.elapsed())
        });
        expected.min(self.settings.interval).max(shortest)
    }

    /// Looks at the chain, and passes over the leases when a ledger closed or the interval went by.
    async fn round(
        &self,
        passed: Option<(u32, Instant)>,
    ) -> Result<Option<(u32, Report)>, ReconcileError> {
        let ledger = self.look_at_chain().await?;
        let due =
            passed.is_none_or(|(last, at)| ledger > last || at.elapsed() >= self.settings.interval);
        if !due {
            return Ok(None);
        }
        Ok(Some((ledger, self.pass().await?)))
    }

    /// Reads the treasury's events since the last look; the answer also tells the last ledger.
    ///
    /// # Errors
    /// The network did not answer. A node that only keeps its events back is asked for its last ledger.
    pub async fn look_at_chain(&self) -> Result<u32, ReconcileError> {
        let mut landed = self.landed.lock().await;
        let seen = match landed.poll(&self.rpc, &self.identity, &self.chain).await {
            Ok(seen) => seen,
            Err(fault) => {
                tracing::debug!(
                    fault = fault.code(),
                    "events are not told: hashes are looked up"
                );
                let seen = self.rpc.latest().await?;
                self.chain.observe(seen);
                seen
            }
        };
        Ok(seen.ledger)
    }

    /// One pass over the leases. What could not be done for some rows keeps none of the others waiting. A ledger that was set
    /// back is not passed over: nothing is decided by it.
    ///
    /// # Errors
    /// The ledger does not tell its leases.
    pub async fn pass(&self) -> Result<Report, ReconcileError> {
        if !step!("reconcile.remembers", self.remembers().await)? {
            // An account may have gone on since what they tell of: rows are settled by looking at both afterwards.
            *self.landed.lock().await = Landings::default();
            return Ok(Report::default());
        }
        let leases = self.ledger.leases().await?;
        let mut report = Report {
            leases: leases.len(),
            ..Report::default()
        };
        self.scans.retain(&leases);
        let (changes, open) = self.landed.lock().await.settle(&self.identity, leases);
        self.settle_landed(&changes, &mut report).await;
        match self.assess(open).await {
            Ok(steps) => self.execute_all(steps, &mut report).await,
            Err(error) => report.note(&error),
        }
        Ok(report)
    }

    /// Many rows under one commit; one by one where that fails, so that none keeps the others from being settled.
    async fn settle_landed(&self, changes: &[Change], report: &mut Report) {
        for changes in changes.chunks(SETTLED_AT_ONCE) {
            match step!(
                "reconcile.landed",
                self.ledger.apply_all(changes.to_vec()).await
            ) {
                Ok(outcomes) => report.settled += outcomes.iter().filter(|one| done(one)).count(),
                Err(error) => {
                    tracing::warn!(%error, "rows are settled one by one");
                    for change in changes {
                        match step!(
                            "reconcile.landed_one",
                            self.ledger.apply(change.clone()).await
                        ) {
                            Ok(outcome) => report.settled += usize::from(done(&outcome)),
                            Err(error) => report.note(&error.into()),
                        }
                    }
                }
            }
        }
    }

    /// Several steps at once, and all of them, whatever becomes of one: rows do not wait for each other.
    async fn execute_all(&self, steps: Vec<Assessed>, report: &mut Report) {
        let mut executing = stream::iter(steps)
            .map(|assessed| async move {
                let mut part = Report::default();
                if let Err(error) = self.execute(assessed, &mut part).await {
                    part.note(&error);
                }
                part
            })
            .buffer_unordered(STEPS_AT_ONCE);
        while let Some(part) = executing.next().await {
            report.settled += part.settled;
            report.resent += part.resent;
            report.faults += part.faults;
        }
    }
}

impl Report {
    fn note(&mut self, error: &ReconcileError) {
        self.faults += 1;
        tracing::warn!(%error, "left for the next pass");
    }
}

fn done(outcome: &Applied) -> bool {
    match outcome {
        Applied::Done(_) => true,
        Applied::Stale | Applied::Illegal(_) | Applied::NotFound => false,
    }
}
