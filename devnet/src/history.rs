//! What closed ledgers contain.

use crate::ledger::transaction_set;
use stellar_xdr::{
    FeeBumpTransactionInnerTx, GeneralizedTransactionSet, Hash, LedgerEntryChanges, LedgerHeader,
    TransactionEnvelope, TransactionMeta, TransactionResult, TransactionResultResult,
};

/// A ledger that was closed by this network.
#[derive(Clone, Debug)]
pub struct ClosedLedger {
    /// The header; `ledger_seq` and `scp_value.close_time` are in it.
    pub header: LedgerHeader,
    /// SHA-256 of the header.
    pub hash: Hash,
    /// Its transactions in apply order.
    pub transactions: Vec<AppliedTransaction>,
    /// What an operation cost in it, in stroops: the minimum, or more when it was full.
    pub base_fee: i64,
}

impl ClosedLedger {
    /// Sequence of the ledger.
    #[must_use]
    pub fn sequence(&self) -> u32 {
        self.header.ledger_seq
    }

    /// Its close time, in unix seconds.
    #[must_use]
    pub fn close_time(&self) -> u64 {
        self.header.scp_value.close_time.0
    }

    /// The transaction set whose hash is in the header.
    #[must_use]
    pub fn transaction_set(&self) -> GeneralizedTransactionSet {
        transaction_set(
            &self.header.previous_ledger_hash,
            &self.transactions,
            self.base_fee,
        )
    }
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
    pub fee_changes: LedgerEntryChanges,
    /// Position in the ledger, from 1.
    pub application_order: u32,
}

impl AppliedTransaction {
    /// What was charged, in stroops.
    #[must_use]
    pub fn fee_charged(&self) -> i64 {
        self.result.fee_charged
    }

    /// Operations of the transaction; of the inner one for a fee-bump, without the one a bump counts extra.
    #[must_use]
    pub fn operation_count(&self) -> usize {
        match &self.envelope {
            TransactionEnvelope::TxV0(v0) => v0.tx.operations.len(),
            TransactionEnvelope::Tx(v1) => v1.tx.operations.len(),
            TransactionEnvelope::TxFeeBump(outer) => {
                let FeeBumpTransactionInnerTx::Tx(inner) = &outer.tx.inner_tx;
                inner.tx.operations.len()
            }
        }
    }

    /// Whether it is a fee-bump.
    #[must_use]
    pub fn is_fee_bump(&self) -> bool {
        self.inner_hash.is_some()
    }

    /// Whether it did what it says.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(
            self.result.result,
            TransactionResultResult::TxSuccess(_)
                | TransactionResultResult::TxFeeBumpInnerSuccess(_)
        )
    }
}
