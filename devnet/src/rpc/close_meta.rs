//! What a node tells of a closed ledger: its header with hash, and everything that happened in it.

use crate::history::{AppliedTransaction, ClosedLedger};
use crate::xdr::list;
use stellar_xdr::{
    ExtensionPoint, LedgerCloseMeta, LedgerCloseMetaExt, LedgerCloseMetaV2, LedgerEntryChanges,
    LedgerHeaderHistoryEntry, LedgerHeaderHistoryEntryExt, TransactionResultMetaV1,
    TransactionResultPair,
};

/// The header of a ledger with its hash.
pub fn header_entry(ledger: &ClosedLedger) -> LedgerHeaderHistoryEntry {
    LedgerHeaderHistoryEntry {
        hash: ledger.hash.clone(),
        header: ledger.header.clone(),
        ext: LedgerHeaderHistoryEntryExt::V0,
    }
}

/// Header, transaction set and, in apply order, results, fee changes and meta of each transaction.
pub fn close_meta(ledger: &ClosedLedger) -> LedgerCloseMeta {
    LedgerCloseMeta::V2(LedgerCloseMetaV2 {
        ext: LedgerCloseMetaExt::V0,
        ledger_header: header_entry(ledger),
        tx_set: ledger.transaction_set(),
        tx_processing: list(ledger.transactions.iter().map(processing).collect()),
        upgrades_processing: list(Vec::new()),
        scp_info: list(Vec::new()),
        total_byte_size_of_live_soroban_state: 0,
        evicted_keys: list(Vec::new()),
    })
}

fn processing(tx: &AppliedTransaction) -> TransactionResultMetaV1 {
    TransactionResultMetaV1 {
        ext: ExtensionPoint::V0,
        result: TransactionResultPair {
            transaction_hash: tx.hash.clone(),
            result: tx.result.clone(),
        },
        fee_processing: tx.fee_changes.clone(),
        tx_apply_processing: tx.meta.clone(),
        post_tx_apply_fee_processing: LedgerEntryChanges(list(Vec::new())),
    }
}
