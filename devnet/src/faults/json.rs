//! A plan as the admin endpoint takes it, and the report it gives.

use super::plan::FaultPlan;
use super::rule::{Rule, RuleError};
use serde::Deserialize;
use serde_json::{Value, json};

/// Largest plan that is read, in bytes.
pub const MAX_PLAN_BYTES: usize = 256 * 1024;
/// Hits the report tells one by one; more are only counted.
const MAX_HITS_SHOWN: usize = 1000;

/// Why a text is not a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It is too long.
    #[error("a plan has at most {MAX_PLAN_BYTES} bytes")]
    TooLong,
    /// It does not have the form of a plan.
    #[error("this is not a plan of faults: {0}")]
    Form(#[from] serde_json::Error),
    /// One of its rules cannot be followed.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default)]
    seed: u64,
    rules: Vec<Rule>,
}

impl FaultPlan {
    /// Reads a plan: `{"seed": 7, "rules": [...]}`, where a rule is `{"call": {...}}` with the fields of
    /// [`super::CallRule`] or `{"close": {...}}` with those of [`super::CloseRule`].
    ///
    /// # Errors
    /// The text is too long, is not of that form, or has a rule that cannot be followed.
    pub fn from_json(text: &[u8]) -> Result<Self, PlanError> {
        if text.len() > MAX_PLAN_BYTES {
            return Err(PlanError::TooLong);
        }
        let Text { seed, rules } = serde_json::from_slice(text)?;
        Ok(Self::ruled(seed, rules)?)
    }
}

/// What a plan did so far, with its rules.
#[must_use]
pub fn report_json(plan: &FaultPlan) -> Value {
    let report = plan.report();
    let rules: Vec<Value> = plan
        .rules()
        .zip(&report.rules)
        .map(|(rule, did)| json!({"rule": rule, "matched": did.matched, "fired": did.fired}))
        .collect();
    let hits: Vec<Value> = report
        .hits
        .iter()
        .take(MAX_HITS_SHOWN)
        .map(|hit| json!({"fault": hit.fault, "hash": hex::encode(hit.hash.0)}))
        .collect();
    json!({
        "answersLostAfterAccept": report.after_accept,
        "answersLostBeforeAccept": report.before_accept,
        "rules": rules,
        "hits": hits,
        "hitCount": report.hits.len(),
    })
}

/// Hashes as lists of hexadecimal texts.
pub(super) mod hashes {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use stellar_xdr::Hash;

    pub fn serialize<S: Serializer>(hashes: &[Hash], serializer: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = hashes.iter().map(|hash| hex::encode(hash.0)).collect();
        texts.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Hash>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let hash = |text: &String| {
            let mut hash = [0; 32];
            hex::decode_to_slice(text, &mut hash)
                .map(|()| Hash(hash))
                .map_err(|_| D::Error::custom("a hash has 64 hexadecimal digits"))
        };
        texts.iter().map(hash).collect()
    }
}
