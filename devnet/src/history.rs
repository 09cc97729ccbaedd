//! What closed ledgers contain.

use stellar_xdr::{Hash, LedgerHeader, TransactionEnvelope, TransactionMeta, TransactionResult};

/// A ledger that was closed by this network.
#[derive(Clone, Debug)]
pub struct ClosedLedger {
    /// The header; `ledger_seq` and `scp_value.close_time` are in it.
    pub header: LedgerHeader,
    /// SHA-256 of the header.
    pub hash: Hash,
    /// Its transactions in apply order.
    pub transactions: Vec<AppliedTransaction>,
}

/// A transaction in a ledger.
#[derive(Clone, Debug)]
pub struct AppliedTransaction {
    /// Hash of the envelope; of the outer one for a fee-bump.
    pub hash: Hash,
    /// Hash of the inner transaction of a fee-bump.
    pub inner_hash: Option<Hash>,
    /// The envelope as it was sent.
    pub envelope: TransactionEnvelope,
    /// Result code, fee charged and operation results.
    pub result: TransactionResult,
    /// Meta of version 4: changes, operation events and fee events.
    pub meta: TransactionMeta,
    /// Entry changes of the fee phase, as in `TransactionResultMeta.fee_processing`.
    pub fee_changes: stellar_xdr::LedgerEntryChanges,
    /// Position in the ledger, from 1.
    pub application_order: u32,
}
