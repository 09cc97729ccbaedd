//! Reconcilers: read a row and its attempts, hold them against a snapshot of the account, and later do what the domain's
//! plan said. Looking up is in [`crate::look_up`].

use tender::domain::classify::Class;
use tender::domain::ids::{AccountId, Pair as DomainPair};
use tender::domain::plan::Sending as Due;
use tender::domain::plan::{self, Held, Step};
use tender::domain::submission::{Budget, Event, Gap, Status, Verdict};

use crate::bugs::Bug;
use crate::chain::{CLOSE_S, WINDOW_S};
use crate::checker::Protocol;
use crate::ledger::{Change, sequence_of};
use crate::look_up::Look;
use crate::worker::cause;
use crate::world::{Doing, Glance, Id, Key, Pair, Places, Plan, Sending, World};

/// What a fee too low was answered with, in stroops. The model does not count fees.
const REQUIRED: i64 = 200;

/// A page of accounts, and the close time it is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The snapshot's own ledger.
    pub ledger: u8,
    /// The highest ledger that the process has seen.
    pub seen: u8,
}

/// In what way a plan is carried out, where that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Plainly,
    /// Not the same bytes: the payment is simulated or signed again, for the same pair.
    Anew,
    Looking(Look),
}

impl World {
    /// The row of a lease, as a reconciler reads it.
    pub fn glance(&self, key: Key) -> Option<Glance> {
        let row = self.row(key);
        let status = row.state.status;
        row.held().map(|pair| Glance {
            key,
            version: row.version,
            building: status == Status::Building,
            out: matches!(status, Status::Submitted | Status::Confirming),
            pair,
            sending: row.sending,
        })
    }

    /// Reads the attempts of a row that was read before, looks at a page, and plans. `None` if there is nothing to do.
    pub fn plan(&self, protocol: &Protocol, glance: Glance, page: Page) -> Option<Doing> {
        // Judged by a ledger that it does not reach, a page proves nothing.
        if page.ledger < page.seen && protocol.bug != Some(Bug::MixedSnapshots) {
            return None;
        }
        let mut closed = self.chain.closed_at(page.seen);
        if protocol.bug == Some(Bug::LocalClock) {
            closed += 3 * CLOSE_S;
        }
        let attempts = self.row(glance.key).unsettled(glance.pair);
        let account = self.chain.account(glance.pair.account, page.ledger);
        let held = self.held(glance, attempts);
        let plan = match plan::assess(&held, account, closed) {
            Step::Wait if glance.building => Plan::EndClaim,
            Step::Wait | Step::AccountGone => return None,
            Step::Resend => Plan::Resend(Id {
                key: glance.key,
                place: attempts.iter().next_back()?,
            }),
            Step::RaiseFee { .. } => Plan::RaiseFee(attempts),
            Step::Dead(cause, gap) => Plan::Bury {
                terminal: cause.class == Class::Terminal,
                gap: gap == Gap::Below,
                sequence: sequence_of(account),
            },
            Step::LookUp { at_ledger } => Plan::LookUp {
                attempts,
                sequence: sequence_of(account),
                range: self.range(glance.key, attempts, at_ledger, page.ledger),
                long_enough: plan::looked_long_enough(&held, closed),
            },
            Step::IdleConsumed { at_ledger } => Plan::IdleConsumed {
                last: at_ledger.is_some(),
                sequence: sequence_of(account),
            },
        };
        Some(Doing::Planned {
            key: glance.key,
            version: glance.version,
            plan,
        })
    }

    fn held(&self, glance: Glance, attempts: Places) -> Held {
        // Whatever is asked for is due: when it comes about is open anyway.
        let sending = match (glance.out, glance.sending) {
            (false, _) => Due::Idle,
            (true, Sending::Waiting) => Due::Waiting,
            (true, Sending::Resend) => Due::ResendDue,
            (true, Sending::RaiseFee) => Due::RaiseDue { required: REQUIRED },
            (true, Sending::Stopped { terminal }) => Due::Stopped(cause(terminal)),
        };
        let envelopes = &self.row(glance.key).envelopes;
        let max_times = attempts
            .iter()
            .map(|place| envelopes[usize::from(place)].max_time)
            .collect();
        Held {
            pair: DomainPair {
                account: AccountId([glance.pair.account; 32]),
                sequence: i64::from(glance.pair.sequence),
            },
            max_times,
            sending,
        }
    }

    /// The ledgers that are read for the pair's consumer.
    fn range(&self, key: Key, attempts: Places, at: Option<u32>, page: u8) -> (u8, u8) {
        if let Some(at) = at {
            let at = u8::try_from(at).unwrap_or(u8::MAX);
            return (at, at);
        }
        let built_after = |place: u8| {
            let max_time = self.row(key).envelopes[usize::from(place)].max_time;
            (0..=self.chain.ledger)
                .find(|ledger| self.chain.closed_at(*ledger) + WINDOW_S == max_time)
                .unwrap_or(0)
        };
        let first = attempts.iter().map(built_after).min().unwrap_or(0);
        (first + 1, page)
    }

    /// What a late look at a row of unknown outcome has in its hands.
    pub fn late(&self, key: Key) -> Option<Doing> {
        let row = self.row(key);
        let unknown = row.state.verdict == Verdict::Indeterminate;
        let pair = row.pair.filter(|_| unknown)?;
        Some(Doing::Planned {
            key,
            version: row.version,
            plan: Plan::LookUpLate(row.attempts(pair)),
        })
    }

    /// Carries a plan out; what the reconciler has in its hands then.
    pub fn act(
        &mut self,
        protocol: &Protocol,
        (key, version): (Key, u8),
        plan: Plan,
        way: Way,
    ) -> Doing {
        match plan {
            Plan::EndClaim => {
                self.apply(protocol, &Change::new(key, version, Event::ClaimLapsed));
            }
            Plan::Resend(id) => return self.resend(protocol, id, version, way),
            Plan::RaiseFee(attempts) => return self.raise_fee(protocol, key, version, attempts),
            Plan::Bury {
                terminal,
                gap,
                sequence,
            } => {
                let gap = if gap { Gap::Below } else { Gap::None };
                let change = Change {
                    sequence: Some(sequence),
                    ..Change::new(key, version, Event::ProvenDead(cause(terminal), gap))
                };
                self.apply(protocol, &change);
            }
            Plan::Landed(_) => {
                self.apply(protocol, &Change::new(key, version, Event::Succeeded));
            }
            Plan::LookUp { .. } | Plan::IdleConsumed { .. } | Plan::LookUpLate(_) => {
                if let Way::Looking(look) = way {
                    self.look(protocol, (key, version), plan, look);
                }
            }
        }
        Doing::Nothing
    }

    fn resend(&mut self, protocol: &Protocol, id: Id, version: u8, way: Way) -> Doing {
        if protocol.bug == Some(Bug::BudgetMeansFailed) {
            let dead = Event::ProvenDead(cause(false), Gap::None);
            let spent = Budget {
                transient_failures: 0,
                claims: 0,
            };
            self.apply_within(protocol, &Change::new(id.key, version, dead), spent);
            return Doing::Nothing;
        }
        self.used.resends += 1;
        if way == Way::Anew {
            let max_time = self.chain.closed_at(self.chain.ledger) + WINDOW_S;
            let anew = self.sign(id.key, self.envelope(id).pair, None, max_time);
            return self.record_and_send(protocol, anew, version);
        }
        let change = Change {
            sending: Some(Sending::Resend),
            ..Change::new(id.key, version, Event::ResendBegun)
        };
        if self.apply(protocol, &change) {
            let version = self.row(id.key).version;
            return Doing::Sending { id, version };
        }
        Doing::Nothing
    }

    fn raise_fee(&mut self, protocol: &Protocol, key: Key, version: u8, attempts: Places) -> Doing {
        let envelopes = &self.row(key).envelopes;
        let at = |place: u8| &envelopes[usize::from(place)];
        let Some(inner) = attempts.iter().rfind(|place| at(*place).inner.is_none()) else {
            return Doing::Nothing;
        };
        let raised = attempts.iter().any(|place| at(place).inner == Some(inner));
        if let Some(place) = attempts.iter().next_back().filter(|_| raised) {
            return self.resend(protocol, Id { key, place }, version, Way::Plainly);
        }
        let (pair, max_time) = (at(inner).pair, at(inner).max_time);
        let bump = if protocol.bug == Some(Bug::BumpOfNewInner) {
            let next = Pair {
                sequence: pair.sequence + 1,
                ..pair
            };
            self.sign(key, next, None, max_time)
        } else {
            self.sign(key, pair, Some(inner), max_time)
        };
        self.record_and_send(protocol, bump, version)
    }

    fn record_and_send(&mut self, protocol: &Protocol, id: Id, version: u8) -> Doing {
        if self.record(protocol, id, version, None) {
            let version = self.row(id.key).version;
            return Doing::Sending { id, version };
        }
        self.unsign(id);
        Doing::Nothing
    }
}
