//! What the chain shows, whatever anybody was told: successful transactions by the key's tag in them.

use std::collections::BTreeMap;

use stellar_xdr::{FeeBumpTransactionInnerTx, MuxedAccount, Operation, TransactionEnvelope};
use tender_devnet::node::DevNode;

/// Effects so far, by tag.
#[derive(Default)]
pub struct Effects {
    read_to: u32,
    by_tag: BTreeMap<u64, u32>,
}

impl Effects {
    /// Reads the ledgers that closed since the last look.
    pub fn read(&mut self, node: &DevNode) {
        node.inspect(|network| {
            let new: Vec<_> = network
                .ledgers()
                .rev()
                .take_while(|ledger| ledger.sequence() > self.read_to)
                .collect();
            for ledger in new {
                self.read_to = self.read_to.max(ledger.sequence());
                for tx in ledger.transactions.iter().filter(|tx| tx.is_success()) {
                    for tag in operations(&tx.envelope).iter().filter_map(tag) {
                        *self.by_tag.entry(tag).or_default() += 1;
                    }
                }
            }
        });
    }

    pub fn of(&self, tag: u64) -> u32 {
        self.by_tag.get(&tag).copied().unwrap_or(0)
    }
}

fn tag(operation: &Operation) -> Option<u64> {
    match &operation.source_account {
        Some(MuxedAccount::MuxedEd25519(source)) => Some(source.id),
        Some(MuxedAccount::Ed25519(_)) | None => None,
    }
}

fn operations(envelope: &TransactionEnvelope) -> &[Operation] {
    match envelope {
        TransactionEnvelope::TxV0(v0) => &v0.tx.operations,
        TransactionEnvelope::Tx(v1) => &v1.tx.operations,
        TransactionEnvelope::TxFeeBump(bump) => {
            let FeeBumpTransactionInnerTx::Tx(inner) = &bump.tx.inner_tx;
            &inner.tx.operations
        }
    }
}
