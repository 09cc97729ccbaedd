//! When something goes wrong.

use super::fault::{CloseFault, Fault};
use crate::rpc::Method;
use crate::xdr::sha256;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use stellar_xdr::Hash;

/// Most rules of one plan.
pub const MAX_RULES: usize = 100;
/// Most hashes one rule lists.
pub const MAX_HASHES: usize = 1000;
/// Shares are told per thousand.
const WHOLE: u16 = 1000;

/// Which of the calls or closes a rule picks go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum When {
    /// Each.
    #[default]
    Always,
    /// Only the nth, from 1.
    Nth(u64),
    /// The nth, the 2nth and so on.
    Every(u64),
    /// The first n.
    UpTo(u64),
    /// All from the nth on.
    From(u64),
    /// That many of a thousand, by the seed.
    Share(u16),
}

impl When {
    fn picks(self, nth: u64, random: &mut StdRng) -> bool {
        match self {
            Self::Always => true,
            Self::Nth(n) => nth == n,
            Self::Every(n) => nth.is_multiple_of(n.max(1)),
            Self::UpTo(n) => nth <= n,
            Self::From(n) => nth >= n,
            Self::Share(share) => random.random_range(0..WHOLE) < share,
        }
    }

    fn check(self) -> Result<(), RuleError> {
        match self {
            Self::Nth(0) | Self::Every(0) | Self::UpTo(0) | Self::From(0) => {
                Err(RuleError::CountsFromOne)
            }
            Self::Share(share) if share > WHOLE => Err(RuleError::Share(share)),
            Self::Always
            | Self::Nth(_)
            | Self::Every(_)
            | Self::UpTo(_)
            | Self::From(_)
            | Self::Share(_) => Ok(()),
        }
    }
}

/// Whose calls a rule picks: by the hash of the envelope sent (the outer one of a fee-bump), or of the transaction asked
/// for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Hashes {
    /// Calls with any hash and calls with none.
    #[default]
    Any,
    /// These.
    Listed(#[serde(with = "super::json::hashes")] Vec<Hash>),
    /// That many of a thousand transactions, by the seed and the hash alone: each is always picked or never.
    Share(u16),
}

/// Calls that go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallRule {
    /// Their methods; none means all that the fault concerns.
    #[serde(default)]
    pub methods: Vec<Method>,
    /// Their hashes.
    #[serde(default)]
    pub hashes: Hashes,
    /// Which of them.
    #[serde(default)]
    pub when: When,
    /// How they go wrong.
    pub fault: Fault,
}

/// Ledgers that go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloseRule {
    /// Which of the closes.
    #[serde(default)]
    pub when: When,
    /// How they go wrong.
    pub fault: CloseFault,
}

/// One thing that goes wrong, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// With calls.
    Call(CallRule),
    /// With ledgers.
    Close(CloseRule),
}

impl Rule {
    /// Every call that the fault concerns goes wrong; narrow it down with the fields of [`CallRule`].
    #[must_use]
    pub fn call(fault: Fault, methods: &[Method], when: When) -> Self {
        Self::Call(CallRule {
            methods: methods.to_vec(),
            hashes: Hashes::Any,
            when,
            fault,
        })
    }

    /// Closes go wrong.
    #[must_use]
    pub fn close(fault: CloseFault, when: When) -> Self {
        Self::Close(CloseRule { when, fault })
    }

    pub(super) fn check(&self) -> Result<(), RuleError> {
        match self {
            Self::Call(rule) => rule.check(),
            Self::Close(rule) => {
                rule.when.check()?;
                rule.fault.check()
            }
        }
    }
}

impl CallRule {
    fn check(&self) -> Result<(), RuleError> {
        self.when.check()?;
        self.fault.check()?;
        match &self.hashes {
            Hashes::Share(share) if *share > WHOLE => return Err(RuleError::Share(*share)),
            Hashes::Listed(hashes) if hashes.len() > MAX_HASHES => {
                return Err(RuleError::TooManyHashes);
            }
            Hashes::Any | Hashes::Listed(_) | Hashes::Share(_) => {}
        }
        match self.methods.iter().find(|m| !self.fault.concerns(**m)) {
            Some(method) => Err(RuleError::NotOfMethod(method.name())),
            None => Ok(()),
        }
    }

    fn concerns(&self, method: Method) -> bool {
        self.fault.concerns(method) && (self.methods.is_empty() || self.methods.contains(&method))
    }
}

/// Why a rule cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A number is out of its range.
    #[error("{field} is {found}, but must be from {least} to {most}")]
    OutOfRange {
        /// The field's name.
        field: &'static str,
        /// What it is.
        found: u32,
        /// The least it may be.
        least: u32,
        /// The most it may be.
        most: u32,
    },
    /// A count is zero.
    #[error("calls and ledgers are counted from 1")]
    CountsFromOne,
    /// A share is above the whole.
    #[error("a share is told per thousand, and {0} is more")]
    Share(u16),
    /// Too many hashes.
    #[error("a rule lists at most {MAX_HASHES} hashes")]
    TooManyHashes,
    /// Too many rules.
    #[error("a plan has at most {MAX_RULES} rules")]
    TooManyRules,
    /// The method cannot go wrong so.
    #[error("{0} cannot go wrong in this way")]
    NotOfMethod(&'static str),
}

/// The transactions a rule is about.
#[derive(Clone, Debug)]
pub struct HashScope {
    hashes: Hashes,
    salt: Hash,
}

impl HashScope {
    /// Whether the transaction of that hash is among them.
    #[must_use]
    pub fn contains(&self, hash: &Hash) -> bool {
        match &self.hashes {
            Hashes::Any => true,
            Hashes::Listed(hashes) => hashes.contains(hash),
            Hashes::Share(share) => {
                let mixed = sha256(&[&self.salt.0, &hash.0]).0;
                u32::from_be_bytes([mixed[0], mixed[1], mixed[2], mixed[3]]) % u32::from(WHOLE)
                    < u32::from(*share)
            }
        }
    }

    fn picks(&self, fault: Fault, method: Method, hash: Option<&Hash>) -> bool {
        if matches!(fault, Fault::IndexLag { .. }) && method != Method::SendTransaction {
            // Asked by either hash of a fee-bump, or by none: whoever looks the transaction up decides.
            return true;
        }
        match (hash, &self.hashes) {
            (Some(hash), _) => self.contains(hash),
            (None, Hashes::Any) => true,
            (None, Hashes::Listed(_) | Hashes::Share(_)) => false,
        }
    }
}

/// A rule with its own source of chance, so that other rules do not change what it does.
#[derive(Clone, Debug)]
pub(super) struct Armed {
    pub rule: Rule,
    pub scope: HashScope,
    pub matched: u64,
    random: StdRng,
}

impl Armed {
    pub fn new(rule: Rule, seed: u64, index: usize) -> Self {
        let salt = sha256(&[&seed.to_be_bytes(), &(index as u64).to_be_bytes()]);
        let hashes = match &rule {
            Rule::Call(rule) => rule.hashes.clone(),
            Rule::Close(_) => Hashes::Any,
        };
        Self {
            random: StdRng::from_seed(salt.0),
            scope: HashScope { hashes, salt },
            rule,
            matched: 0,
        }
    }

    pub fn concerns(&self, method: Method) -> bool {
        match &self.rule {
            Rule::Call(rule) => rule.concerns(method),
            Rule::Close(_) => false,
        }
    }

    /// What a call has to suffer by this rule.
    pub fn call(&mut self, method: Method, hash: Option<&Hash>) -> Option<Fault> {
        let Rule::Call(rule) = &self.rule else {
            return None;
        };
        if !rule.concerns(method) || !self.scope.picks(rule.fault, method, hash) {
            return None;
        }
        self.matched += 1;
        rule.when
            .picks(self.matched, &mut self.random)
            .then_some(rule.fault)
    }

    /// What a ledger has to suffer by this rule.
    pub fn close(&mut self) -> Option<CloseFault> {
        let Rule::Close(rule) = &self.rule else {
            return None;
        };
        self.matched += 1;
        rule.when
            .picks(self.matched, &mut self.random)
            .then_some(rule.fault)
    }
}
