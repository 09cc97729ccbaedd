//! Bugs that pay twice, or fail what was paid. Each is a shortcut that looks harmless; the model must find them all.

/// A bug in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// An answer that never came is read as a failure: the payment is built anew, with the next sequence.
    RebuildOnTimeOut,
    /// Expiry is judged by a process' clock, which runs ahead of the ledgers.
    LocalClock,
    /// A hash that is not found is a transaction that failed.
    NotFoundMeansFailed,
    /// An answer that never came gives the channel account back.
    LeaseFreedOnTimeOut,
    /// Bytes are sent before their envelope is recorded.
    SentBeforeRecorded,
    /// A fee-bump wraps a new inner transaction, with another sequence.
    BumpOfNewInner,
    /// Transitions do not compare the version that was read.
    NotFenced,
    /// A spent retry budget fails a row without proof.
    BudgetMeansFailed,
    /// A refusal of what its sender thinks was the only send fails the row.
    RefusalMeansFailed,
    /// A consumer that is not found is foreign.
    NotFoundMeansForeign,
    /// Recording another envelope does not move the version.
    RecordingKeepsVersion,
    /// Hashes of older pairs are among those that settle the current one.
    OlderPairSettles,
    /// An account of one snapshot is held against the close time of a later ledger.
    MixedSnapshots,
}
