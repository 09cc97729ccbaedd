//! Entries as they were some ledgers ago.
//!
//! The transactions of a closed ledger tell what each entry was before they changed it. Read from the ledger that was
//! asked for on, the first change to an entry therefore tells what it was then; an entry without a change is what it is
//! now. Only when somebody asks, and so nothing is slower when nobody does.

use crate::history::ClosedLedger;
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};
use stellar_xdr::{LedgerEntry, LedgerEntryChange, LedgerKey, TransactionMeta};

/// Most ledgers somebody may look back.
pub const MAX_LAG: u32 = 64;

/// What an entry was.
#[derive(Clone, Debug)]
pub(crate) enum Was {
    /// Not there.
    Absent,
    /// This.
    Present(Box<LedgerEntry>),
}

type Before = HashMap<LedgerKey, Was>;

/// What the entries changed by the last ledgers were before.
#[derive(Debug, Default)]
pub(crate) struct Past {
    by_ledger: Mutex<BTreeMap<u32, Before>>,
}

impl Past {
    /// What an entry was before the first of these ledgers that changed it, if one of them did.
    pub fn first_before<'a>(
        &self,
        key: &LedgerKey,
        ledgers: RangeInclusive<u32>,
        ledger: impl Fn(u32) -> Option<&'a ClosedLedger>,
    ) -> Option<Was> {
        let mut by_ledger = self
            .by_ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let oldest = ledgers.end().saturating_sub(MAX_LAG);
        *by_ledger = by_ledger.split_off(&oldest);
        for sequence in ledgers {
            let before = by_ledger
                .entry(sequence)
                .or_insert_with(|| ledger(sequence).map(before).unwrap_or_default());
            if let Some(was) = before.get(key) {
                return Some(was.clone());
            }
        }
        None
    }
}

fn before(ledger: &ClosedLedger) -> Before {
    let mut before = Before::new();
    // All fees of a ledger are charged before its first transaction is applied.
    let fees = ledger
        .transactions
        .iter()
        .flat_map(|tx| tx.fee_changes.iter());
    let changes = ledger
        .transactions
        .iter()
        .flat_map(|tx| changes_of(&tx.meta));
    for change in fees.chain(changes) {
        match change {
            LedgerEntryChange::State(entry) => {
                before
                    .entry(entry.to_key())
                    .or_insert_with(|| Was::Present(Box::new(entry.clone())));
            }
            LedgerEntryChange::Created(entry) => {
                before.entry(entry.to_key()).or_insert(Was::Absent);
            }
            // Both follow the state they change.
            LedgerEntryChange::Updated(_)
            | LedgerEntryChange::Removed(_)
            | LedgerEntryChange::Restored(_) => {}
        }
    }
    before
}

fn changes_of(meta: &TransactionMeta) -> Vec<&LedgerEntryChange> {
    match meta {
        TransactionMeta::V4(meta) => meta
            .tx_changes_before
            .iter()
            .chain(meta.operations.iter().flat_map(|op| op.changes.iter()))
            .chain(meta.tx_changes_after.iter())
            .collect(),
        TransactionMeta::V0(_)
        | TransactionMeta::V1(_)
        | TransactionMeta::V2(_)
        | TransactionMeta::V3(_) => Vec::new(),
    }
}
