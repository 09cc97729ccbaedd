//! Answers that get lost on purpose.
//!
//! A client that sends a transaction and gets no answer cannot know whether the network took it. [`FaultPlan`] makes
//! this happen as often as a test wants, before or after the network took the envelope, in every way a client can see.

use crate::rpc::Method;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use std::time::Duration;
use stellar_xdr::Hash;

/// Longest time a connection is held without an answer.
pub const LONGEST_HANG: Duration = Duration::from_mins(1);

/// Most hits whose hashes are kept; later ones are only counted.
const MAX_HITS: usize = 100_000;

/// What the client sees instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The connection is reset.
    Reset,
    /// HTTP status 504.
    GatewayTimeout,
    /// Nothing, until the client gives up or [`LONGEST_HANG`] is over.
    Hang,
}

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The network took the envelope and its answer is lost.
    AnswerLostAfterAccept(Loss),
    /// The request is lost: the network never saw the envelope.
    AnswerLostBeforeAccept(Loss),
}

/// A call the plan is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Which method.
    pub method: Method,
    /// The hash of the envelope sent, if one was.
    pub hash: Option<&'a Hash>,
}

/// A fault that was injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// What went wrong.
    pub fault: Fault,
    /// The hash of the envelope it went wrong for.
    pub hash: Hash,
}

/// What a plan did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultReport {
    /// Answers lost after the network took the envelope.
    pub after_accept: u64,
    /// Requests lost before.
    pub before_accept: u64,
    /// The faults in the order they were injected; the first 100,000.
    pub hits: Vec<Hit>,
}

/// Which calls go wrong: a seeded share of all `sendTransaction` calls, in turn before and after the network accepts.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    per_thousand: u16,
    losses: Vec<Loss>,
    random: StdRng,
    next_is_after: bool,
    report: FaultReport,
}

impl Default for FaultPlan {
    fn default() -> Self {
        Self::none()
    }
}

impl FaultPlan {
    /// Nothing goes wrong.
    #[must_use]
    pub fn none() -> Self {
        Self::seeded(0, 0, &[])
    }

    /// Loses `per_thousand` (at most 1000) of a thousand answers, each in one of these ways; without ways, none is lost.
    #[must_use]
    pub fn seeded(seed: u64, per_thousand: u16, losses: &[Loss]) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        Self {
            per_thousand: per_thousand.min(1000),
            losses: losses.to_vec(),
            next_is_after: random.random(),
            random,
            report: FaultReport::default(),
        }
    }

    /// Whether calls of this method can go wrong at all.
    #[must_use]
    pub fn concerns(&self, method: Method) -> bool {
        method == Method::SendTransaction && self.per_thousand > 0 && !self.losses.is_empty()
    }

    /// Decides about one call and keeps count. A call whose envelope cannot be read is spared.
    pub fn decide(&mut self, call: Call<'_>) -> Option<Fault> {
        if !self.concerns(call.method) {
            return None;
        }
        let hash = call.hash?;
        if self.random.random_range(0..1000) >= self.per_thousand {
            return None;
        }
        let loss = self.losses[self.random.random_range(0..self.losses.len())];
        let fault = if self.next_is_after {
            self.report.after_accept += 1;
            Fault::AnswerLostAfterAccept(loss)
        } else {
            self.report.before_accept += 1;
            Fault::AnswerLostBeforeAccept(loss)
        };
        self.next_is_after = !self.next_is_after;
        if self.report.hits.len() < MAX_HITS {
            let hash = hash.clone();
            self.report.hits.push(Hit { fault, hash });
        }
        Some(fault)
    }

    /// What was injected so far.
    #[must_use]
    pub fn report(&self) -> &FaultReport {
        &self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions(seed: u64, per_thousand: u16, losses: &[Loss]) -> (Vec<Option<Fault>>, FaultPlan) {
        let mut plan = FaultPlan::seeded(seed, per_thousand, losses);
        let hash = Hash([7; 32]);
        let call = Call {
            method: Method::SendTransaction,
            hash: Some(&hash),
        };
        ((0..1000).map(|_| plan.decide(call)).collect(), plan)
    }

    #[test]
    fn the_same_seed_decides_the_same_and_halves_are_equal() {
        let losses = [Loss::Reset, Loss::GatewayTimeout];
        let (first, plan) = decisions(1, 250, &losses);
        assert_eq!(first, decisions(1, 250, &losses).0);
        assert_ne!(first, decisions(2, 250, &losses).0);
        let report = plan.report();
        let lost = report.after_accept + report.before_accept;
        assert!((200..300).contains(&lost), "{lost}");
        assert!(report.after_accept.abs_diff(report.before_accept) <= 1);
        assert_eq!(report.hits.len() as u64, lost);
        assert!(first.contains(&Some(Fault::AnswerLostAfterAccept(Loss::Reset))));
        assert!(first.contains(&Some(Fault::AnswerLostBeforeAccept(Loss::GatewayTimeout))));
    }

    #[test]
    fn nothing_is_lost_without_a_share_or_without_a_way() {
        assert!(decisions(1, 0, &[Loss::Hang]).0.iter().all(Option::is_none));
        assert!(decisions(1, 1000, &[]).0.iter().all(Option::is_none));
        assert!(
            decisions(1, 1000, &[Loss::Hang])
                .0
                .iter()
                .all(Option::is_some)
        );
    }

    #[test]
    fn other_methods_and_unreadable_envelopes_are_spared() {
        let mut plan = FaultPlan::seeded(1, 1000, &[Loss::Hang]);
        let hash = Hash([7; 32]);
        for method in Method::ALL {
            let hash = (*method != Method::SendTransaction).then_some(&hash);
            assert_eq!(
                plan.decide(Call {
                    method: *method,
                    hash
                }),
                None
            );
        }
    }
}
