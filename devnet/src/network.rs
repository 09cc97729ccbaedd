//! One node and its chain, driven by hand: submit, close, look up.

use crate::config::NetworkConfig;
use crate::history::ClosedLedger;
use stellar_xdr::{Hash, LedgerEntry, LedgerKey, TransactionResult};

/// What the node says to a submitted envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmitStatus {
    /// In this node's queue.
    Pending,
    /// Already in this node's queue.
    Duplicate,
    /// Refused without a reason.
    TryAgainLater,
    /// Refused, with the result it would have.
    Error(Box<TransactionResult>),
}

/// Status and identity of a submitted envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitAnswer {
    /// Hash of the envelope that was sent; of the outer one for a fee-bump.
    pub hash: Hash,
    /// What the node says.
    pub status: SubmitStatus,
}

/// A simulated network of one node.
pub struct Network {
    config: NetworkConfig,
}

impl Network {
    /// A network at its start ledger, with an empty queue.
    #[must_use]
    pub fn new(config: NetworkConfig) -> Self {
        Self { config }
    }

    /// The network's parameters.
    #[must_use]
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Submits the binary XDR of a `TransactionEnvelope`.
    ///
    /// # Errors
    /// The bytes are not an envelope; nothing changed.
    pub fn submit(&mut self, _envelope_xdr: &[u8]) -> Result<SubmitAnswer, stellar_xdr::Error> {
        Err(stellar_xdr::Error::Invalid)
    }

    /// Lets the node's clock go on without closing a ledger: `drift` is in seconds since the last close.
    pub fn set_drift(&mut self, _drift: u64) {}

    /// Closes the next ledger at `close_time` (unix seconds, later than the last one's).
    pub fn close(&mut self, _close_time: u64) -> &ClosedLedger {
        unreachable!("skeleton")
    }

    /// The entry under `key` after the last closed ledger.
    #[must_use]
    pub fn entry(&self, _key: &LedgerKey) -> Option<&LedgerEntry> {
        None
    }

    /// Closed ledgers still in the history window, oldest first; the start ledger is the first, without transactions.
    pub fn ledgers(&self) -> impl DoubleEndedIterator<Item = &ClosedLedger> {
        std::iter::empty()
    }

    /// The ledger of that sequence, if the history window still has it.
    #[must_use]
    pub fn ledger(&self, _sequence: u32) -> Option<&ClosedLedger> {
        None
    }

    /// Where the transaction of that hash (outer or inner) stands: ledger sequence and index into its transactions.
    #[must_use]
    pub fn find_transaction(&self, _hash: &Hash) -> Option<(u32, usize)> {
        None
    }

    /// Sequence of the last closed ledger.
    #[must_use]
    pub fn latest_ledger(&self) -> u32 {
        self.config.start_ledger
    }

    /// Close time of the last closed ledger, in unix seconds.
    #[must_use]
    pub fn latest_close_time(&self) -> u64 {
        self.config.start_close_time
    }
}
