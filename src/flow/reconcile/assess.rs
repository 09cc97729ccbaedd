//! Holding leases against snapshots of their accounts.

use std::collections::HashMap;

use super::{ReconcileError, Reconciler};
use crate::domain::ids::AccountId;
use crate::domain::plan::{self, AccountState, Held, Sending, Step};
use crate::domain::sequence::Sequences;
use crate::domain::submission::Status;
use crate::ledger::{Lease, SendState};
use crate::stellar::rpc::{Page, Seen};

/// An account in one snapshot: what every decision about its pair stands on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot {
    /// The snapshot's own ledger.
    pub ledger: u32,
    /// The account.
    pub state: AccountState,
    /// A ledger at or before the snapshot's, with its close time.
    pub closed: Seen,
}

/// A lease and what the snapshot says to do about it.
pub(super) struct Assessed {
    pub lease: Lease,
    pub snapshot: Snapshot,
    pub step: Step,
    /// Whether it keeps a pair without an envelope while others hold later ones of the same account.
    pub in_the_way: bool,
}

impl Reconciler {
    /// What to do about each lease. Each answer of the network is judged alone, by its own ledger.
    pub(super) async fn assess(&self, leases: Vec<Lease>) -> Result<Vec<Assessed>, ReconcileError> {
        // Of a channel account one, of an account whose sequences are handed out one by one several.
        let mut open: HashMap<AccountId, Vec<Lease>> = HashMap::new();
        for lease in leases {
            open.entry(lease.pair.account).or_default().push(lease);
        }
        let accounts: Vec<_> = open.keys().copied().collect();
        let mut steps = Vec::new();
        if accounts.is_empty() {
            return Ok(steps);
        }
        let mut pages = self.rpc.accounts(&accounts).await?;
        // Behind one address nodes may take turns, and one of them may lag: the next answer may be another one's.
        if pages.iter().any(|page| self.is_behind(page)) {
            pages = self.rpc.accounts(&accounts).await?;
        }
        for page in pages {
            let Some(closed) = self
                .chain
                .latest()
                .filter(|seen| seen.ledger <= page.ledger)
            else {
                tracing::debug!(ledger = page.ledger, "a snapshot from the past is ignored");
                continue;
            };
            #[cfg(feature = "planted-bugs")]
            let closed = crate::flow::planted::clock(closed);
            for (account, state) in page.accounts {
                let snapshot = Snapshot {
                    ledger: page.ledger,
                    state,
                    closed,
                };
                let of_account = open.remove(&account).unwrap_or_default();
                let sequences: Vec<_> = of_account.iter().map(|it| it.pair.sequence).collect();
                steps.extend(of_account.into_iter().map(|lease| Assessed {
                    step: plan::assess(&held(&lease), state, closed.close_time),
                    in_the_way: lease.submission.state.status == Status::Pending
                        && Sequences::blocks(lease.pair.sequence, sequences.iter().copied()),
                    lease,
                    snapshot,
                }));
            }
        }
        Ok(steps)
    }

    /// Whether a snapshot is from the past.
    fn is_behind(&self, page: &Page) -> bool {
        let latest = self.chain.latest();
        latest.is_none_or(|seen| seen.ledger > page.ledger)
    }
}

/// The rules' view of a lease.
pub(super) fn held(lease: &Lease) -> Held {
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
