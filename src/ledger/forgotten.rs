//! What a ledger that was set back is told by the chain.

use serde_json::Value;

use crate::domain::ids::{Pair, TxHash};
use crate::domain::key::KeyTag;
use crate::domain::memory::RecoveredKind;

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
