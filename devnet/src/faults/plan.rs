//! All rules together, and what they did.

use super::fault::{CloseFault, Fault, Loss};
use super::losses::SeededLosses;
use super::rule::{Armed, HashScope, MAX_RULES, Rule, RuleError};
use crate::rpc::Method;
use stellar_xdr::Hash;

/// Most hits whose hashes are kept; later ones are only counted.
const MAX_HITS: usize = 100_000;

/// A call the plan is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Which method.
    pub method: Method,
    /// The hash of the envelope sent or of the transaction asked for, if there is one.
    pub hash: Option<&'a Hash>,
}

/// A fault that was injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// What went wrong.
    pub fault: Fault,
    /// The hash of the envelope or transaction it went wrong for.
    pub hash: Hash,
}

/// What a rule did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleReport {
    /// Calls or closes it is about.
    pub matched: u64,
    /// Those that it let go wrong.
    pub fired: u64,
}

/// What a plan did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultReport {
    /// Answers lost after the network took the envelope.
    pub after_accept: u64,
    /// Requests lost before.
    pub before_accept: u64,
    /// Faults of calls that name a transaction, in the order they were injected; the first 100,000.
    pub hits: Vec<Hit>,
    /// What each rule did, in their order.
    pub rules: Vec<RuleReport>,
}

/// One thing that was decided about a call.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub fault: Fault,
    /// The transactions the rule is about, for faults that concern single transactions of a list.
    pub scope: Option<HashScope>,
}

/// What goes wrong: a list of rules. All that pick a call apply to it; where two contradict each other, the earlier one does.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    losses: SeededLosses,
    rules: Vec<Armed>,
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

    /// Loses `per_thousand` (at most 1000) of a thousand answers to `sendTransaction`, each in one of these ways, in turn
    /// before and after the network took the envelope; without ways, none is lost.
    #[must_use]
    pub fn seeded(seed: u64, per_thousand: u16, losses: &[Loss]) -> Self {
        Self {
            losses: SeededLosses::new(seed, per_thousand, losses),
            rules: Vec::new(),
            report: FaultReport::default(),
        }
    }

    /// Follows these rules. Each has its own chance from the seed, so adding one behind the others changes nothing that
    /// those do.
    ///
    /// # Errors
    /// There are too many rules, or one of them cannot be followed.
    pub fn ruled(seed: u64, rules: Vec<Rule>) -> Result<Self, RuleError> {
        if rules.len() > MAX_RULES {
            return Err(RuleError::TooManyRules);
        }
        rules.iter().try_for_each(Rule::check)?;
        let report = FaultReport {
            rules: vec![RuleReport::default(); rules.len()],
            ..FaultReport::default()
        };
        let armed = rules.into_iter().enumerate();
        Ok(Self {
            losses: SeededLosses::new(0, 0, &[]),
            rules: armed
                .map(|(index, rule)| Armed::new(rule, seed, index))
                .collect(),
            report,
        })
    }

    /// The rules.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(|armed| &armed.rule)
    }

    /// Whether calls of this method can go wrong at all.
    #[must_use]
    pub fn concerns(&self, method: Method) -> bool {
        self.losses.concerns(method) || self.rules.iter().any(|rule| rule.concerns(method))
    }

    /// Decides about one call and keeps count: the first of its faults.
    pub fn decide(&mut self, call: Call<'_>) -> Option<Fault> {
        let decided = self.decide_all(call);
        decided.first().map(|decision| decision.fault)
    }

    /// Decides about one call and keeps count: all its faults, in the order of their rules.
    pub(crate) fn decide_all(&mut self, call: Call<'_>) -> Vec<Decision> {
        let lost = self.losses.decide(call);
        let mut decided: Vec<Decision> = lost
            .map(|fault| Decision { fault, scope: None })
            .into_iter()
            .collect();
        for (rule, report) in self.rules.iter_mut().zip(&mut self.report.rules) {
            let fault = rule.call(call.method, call.hash);
            report.matched = rule.matched;
            if let Some(fault) = fault {
                report.fired += 1;
                let scope = Some(rule.scope.clone());
                decided.push(Decision { fault, scope });
            }
        }
        for decision in &decided {
            self.note(decision.fault, call.hash);
        }
        decided
    }

    fn note(&mut self, fault: Fault, hash: Option<&Hash>) {
        match fault {
            Fault::AnswerLostAfterAccept(_) => self.report.after_accept += 1,
            Fault::AnswerLostBeforeAccept(_) => self.report.before_accept += 1,
            Fault::UnknownStatus { .. }
            | Fault::TryAgainLater { .. }
            | Fault::BadSequence { .. }
            | Fault::Held { .. }
            | Fault::IndexLag { .. }
            | Fault::Lag { .. }
            | Fault::ShortHistory { .. }
            | Fault::Slow { .. }
            | Fault::WrongHash
            | Fault::Malformed(_)
            | Fault::Oversized { .. } => {}
        }
        if let Some(hash) = hash
            && self.report.hits.len() < MAX_HITS
        {
            let hash = hash.clone();
            self.report.hits.push(Hit { fault, hash });
        }
    }

    /// Decides about the next ledger; all rules that pick it apply, in their order.
    pub fn decide_close(&mut self) -> Vec<CloseFault> {
        let mut faults = Vec::new();
        for (rule, report) in self.rules.iter_mut().zip(&mut self.report.rules) {
            let fault = rule.close();
            report.matched = rule.matched;
            report.fired += u64::from(fault.is_some());
            faults.extend(fault);
        }
        faults
    }

    /// What was injected so far.
    #[must_use]
    pub fn report(&self) -> &FaultReport {
        &self.report
    }
}
