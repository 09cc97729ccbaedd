//! The demo's plan: a share of all sends lost, in turn before and after the network took them.
//!
//! A client that sends a transaction and gets no answer cannot know whether the network took it. This makes it happen as
//! often as wanted.

use super::fault::{Fault, Loss};
use super::plan::Call;
use crate::rpc::Method;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

/// Which sends are lost.
#[derive(Clone, Debug)]
pub(super) struct SeededLosses {
    per_thousand: u16,
    losses: Vec<Loss>,
    random: StdRng,
    next_is_after: bool,
}

impl SeededLosses {
    pub fn new(seed: u64, per_thousand: u16, losses: &[Loss]) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        Self {
            per_thousand: per_thousand.min(1000),
            losses: losses.to_vec(),
            next_is_after: random.random(),
            random,
        }
    }

    pub fn concerns(&self, method: Method) -> bool {
        method == Method::SendTransaction && self.per_thousand > 0 && !self.losses.is_empty()
    }

    /// Decides about one call. One whose envelope cannot be read is spared.
    pub fn decide(&mut self, call: Call<'_>) -> Option<Fault> {
        if !self.concerns(call.method) || call.hash.is_none() {
            return None;
        }
        if self.random.random_range(0..1000) >= self.per_thousand {
            return None;
        }
        let loss = self.losses[self.random.random_range(0..self.losses.len())];
        let fault = if self.next_is_after {
            Fault::AnswerLostAfterAccept(loss)
        } else {
            Fault::AnswerLostBeforeAccept(loss)
        };
        self.next_is_after = !self.next_is_after;
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::super::FaultPlan;
    use super::*;
    use stellar_xdr::Hash;

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
