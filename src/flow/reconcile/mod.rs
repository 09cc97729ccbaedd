//! Reconcile: converges the ledger to the chain. It takes no input but the leases and the chain, so any number of
//! processes may run it at any time: each transition is compare-and-set, and the loser of a race wastes a call.
//!
//! One pass: settle what the treasury's events name, then hold the rest against one snapshot of their accounts, then do
//! what [`crate::domain::plan`] says.

mod aside;
mod evidence;
mod landed;
mod look_up;
mod progress;
mod steps;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::chain::Chain;
use super::send::Sender;
use crate::domain::classify::Fault;
use crate::domain::ids::AccountId;
use crate::domain::plan::{self, AccountState, Held, Sending, Step};
use crate::domain::submission::Status;
use crate::ledger::{Applied, Lease, Ledger, LedgerError, SendState};
use crate::stellar::keyring::Identity;
use crate::stellar::rpc::{Rpc, Seen};
use crate::stellar::signer::Signer;
use aside::Aside;
use landed::Landings;

/// How often rows of unknown outcome are looked up again.
const INDETERMINATE_PERIOD: Duration = Duration::from_secs(30);
/// Shortest pause between two looks at the chain.
const SHORTEST_POLL: Duration = Duration::from_millis(100);
/// Steps carried out at once: each is a few calls and a transition.
const STEPS_AT_ONCE: usize = 8;

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
    watchers: progress::Watchers,
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
}

/// Why a pass ended early. Nothing is lost: the next pass starts from the ledger and the chain again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The network did not answer.
    #[error("the network did not answer: {}", .0.code())]
    Network(Fault),
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
            rpc,
            sender,
            identity,
            fee_source,
            chain,
            settings,
            landed: tokio::sync::Mutex::default(),
            aside: Aside::default(),
            watchers: progress::Watchers::default(),
        }
    }

    /// Runs until cancelled. `freed` is notified whenever capacity came free.
    pub async fn run(&self, freed: &Notify, shutdown: &CancellationToken) {
        let mut passed = None::<(u32, Instant)>;
        let mut looked_up = Instant::now();
        while !shutdown.is_cancelled() {
            match self.round(passed, &mut looked_up).await {
                Ok(Some((ledger, report))) => {
                    passed = Some((ledger, Instant::now()));
                    self.passed(&report).await;
                    if report.settled > 0 {
                        freed.notify_one();
                    }
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "the reconciler will look again"),
            }
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = tokio::time::sleep(self.pause(passed)) => {}
            }
        }
        self.aside.finish().await;
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
        looked_up: &mut Instant,
    ) -> Result<Option<(u32, Report)>, ReconcileError> {
        let ledger = self.look_at_chain().await?;
        let due =
            passed.is_none_or(|(last, at)| ledger > last || at.elapsed() >= self.settings.interval);
        if !due {
            return Ok(None);
        }
        let mut report = self.pass().await?;
        if looked_up.elapsed() >= INDETERMINATE_PERIOD {
            *looked_up = Instant::now();
            report.settled += self.look_up_indeterminate().await?;
        }
        Ok(Some((ledger, report)))
    }

    /// Reads the treasury's events since the last look; the answer also tells the last ledger.
    ///
    /// # Errors
    /// The network did not answer.
    pub async fn look_at_chain(&self) -> Result<u32, ReconcileError> {
        let mut landed = self.landed.lock().await;
        let seen = landed.poll(&self.rpc, &self.identity, &self.chain).await?;
        Ok(seen.ledger)
    }

    /// One pass over the leases.
    ///
    /// # Errors
    /// The ledger or the network did not answer; what was settled before stays settled.
    pub async fn pass(&self) -> Result<Report, ReconcileError> {
        let leases = self.ledger.leases().await?;
        let mut report = Report {
            leases: leases.len(),
            ..Report::default()
        };
        let (changes, open) = self.landed.lock().await.settle(&self.identity, leases);
        report.settled += applied(&self.ledger.apply_all(changes).await?);
        self.execute_all(self.assess(open).await?, &mut report)
            .await?;
        Ok(report)
    }

    /// Several steps at once, and all of them, whatever becomes of one: rows do not wait for each other.
    async fn execute_all(
        &self,
        steps: Vec<Assessed>,
        report: &mut Report,
    ) -> Result<(), ReconcileError> {
        let mut executing = stream::iter(steps)
            .map(|assessed| async move {
                let mut part = Report::default();
                let executed = self.execute(assessed, &mut part).await;
                (executed, part)
            })
            .buffer_unordered(STEPS_AT_ONCE);
        let mut outcome = Ok(());
        while let Some((executed, part)) = executing.next().await {
            report.settled += part.settled;
            report.resent += part.resent;
            outcome = outcome.and(executed);
        }
        outcome
    }

    /// Holds leases against snapshots of their accounts. Each answer is judged alone, by its own ledger.
    async fn assess(&self, leases: Vec<Lease>) -> Result<Vec<Assessed>, ReconcileError> {
        let mut open: HashMap<AccountId, Lease> = leases
            .into_iter()
            .map(|lease| (lease.pair.account, lease))
            .collect();
        let accounts: Vec<_> = open.keys().copied().collect();
        let mut steps = Vec::new();
        if accounts.is_empty() {
            return Ok(steps);
        }
        for page in self.rpc.accounts(&accounts).await? {
            let Some(closed) = self
                .chain
                .latest()
                .filter(|seen| seen.ledger <= page.ledger)
            else {
                tracing::debug!(ledger = page.ledger, "a snapshot from the past is ignored");
                continue;
            };
            for (account, state) in page.accounts {
                if let Some(lease) = open.remove(&account) {
                    let step = plan::assess(&held(&lease), state, closed.close_time);
                    let snapshot = Snapshot {
                        ledger: page.ledger,
                        state,
                        closed,
                    };
                    steps.push(Assessed {
                        lease,
                        snapshot,
                        step,
                    });
                }
            }
        }
        Ok(steps)
    }
}

/// An account in one snapshot: what every decision about its pair stands on.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    /// The snapshot's own ledger.
    ledger: u32,
    /// The account.
    state: AccountState,
    /// A ledger at or before the snapshot's, with its close time.
    closed: Seen,
}

/// A lease and what the snapshot says to do about it.
struct Assessed {
    lease: Lease,
    snapshot: Snapshot,
    step: Step,
}

/// The rules' view of a lease.
fn held(lease: &Lease) -> Held {
    let sending = match lease.submission.state.status {
        Status::Submitted | Status::Confirming => match &lease.submission.sending {
            SendState::Resend(_) if lease.send_due => Sending::ResendDue,
            SendState::RaiseFee { required, .. } if lease.send_due => Sending::RaiseDue {
                required: *required,
            },
            SendState::Waiting | SendState::Resend(_) | SendState::RaiseFee { .. } => {
                Sending::Waiting
            }
            SendState::Stopped(cause) => Sending::Stopped(cause.clone()),
        },
        Status::Pending
        | Status::Building
        | Status::Confirmed
        | Status::Failed
        | Status::Cancelled
        | Status::Simulated => Sending::Idle,
    };
    Held {
        pair: lease.pair,
        max_times: lease
            .attempts
            .iter()
            .map(|attempt| attempt.envelope.max_time)
            .collect(),
        sending,
    }
}

/// How many transitions were written.
fn applied(outcomes: &[Applied]) -> usize {
    outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Applied::Done(_)))
        .count()
}
