//! What a ledger that was set back is told by the chain.

use serde_json::Value;

use crate::domain::ids::{Pair, TxHash};
use crate::domain::key::KeyTag;

/// What a forgotten transaction was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveredKind {
    /// A payment of one of our keys.
    Paid,
    /// One of our keys' that failed in its ledger: nothing was paid by it.
    Failed,
    /// Not in the treasury's name.
    Foreign,
    /// Nobody knows. Staff decided to go on all the same.
    Accepted,
}

impl RecoveredKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Paid, Self::Failed, Self::Foreign, Self::Accepted];

    /// The name in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Failed => "failed",
            Self::Foreign => "foreign",
            Self::Accepted => "accepted",
        }
    }
}

/// The transaction that used a pair, though the ledger knew nothing of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// The pair.
    pub pair: Pair,
    /// What it was.
    pub kind: RecoveredKind,
    /// The key's tag.
    pub tag: Option<KeyTag>,
    /// Its hash.
    pub hash: Option<TxHash>,
    /// The ledger of the network that it is in.
    pub ledger: Option<u32>,
    /// What it paid, in the normal form of a request's operation.
    pub operation: Option<Value>,
    /// Where it was seen; or who decided, and why.
    pub evidence: Value,
}
