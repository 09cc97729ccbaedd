//! Effects, counted on the chain: every successful transaction in every ledger, by the key's tag in it.

use std::collections::{BTreeMap, HashMap};

use stellar_xdr::{
    MuxedAccount, Operation, OperationBody, TransactionEnvelope, TransactionResultResult,
};
use tender::domain::{ids::AccountId, key::KeyTag};
use tender_devnet::{history::AppliedTransaction, node::DevNode};

/// A payment that is in a ledger and succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    pub ledger: u32,
    pub to: AccountId,
    /// In stroops.
    pub amount: i64,
}

/// What a key should come to.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    pub tag: KeyTag,
    pub to: AccountId,
    pub amount: i64,
}

/// All effects of a treasury that carry a tag.
pub struct Audit {
    by_tag: HashMap<u64, Vec<Effect>>,
}

/// What an audit found for the keys of a test.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub keys: usize,
    pub effects: usize,
    pub doubled: usize,
    pub missing: usize,
    /// Effects of other amounts or to other accounts than their key's.
    pub wrong: usize,
    /// Effects of keys that nobody pushed.
    pub strangers: usize,
}

impl Audit {
    pub fn of(node: &DevNode, treasury: AccountId) -> Self {
        let mut by_tag: HashMap<u64, Vec<Effect>> = HashMap::new();
        node.inspect(|network| {
            for ledger in network.ledgers() {
                for tx in ledger.transactions.iter().filter(|tx| succeeded(tx)) {
                    for (tag, to, amount) in payments(&tx.envelope, treasury) {
                        by_tag.entry(tag).or_default().push(Effect {
                            ledger: ledger.sequence(),
                            to,
                            amount,
                        });
                    }
                }
            }
        });
        Self { by_tag }
    }

    /// Effects of one key.
    pub fn of_key(&self, tag: KeyTag) -> &[Effect] {
        self.by_tag.get(&tag.0).map_or(&[], Vec::as_slice)
    }

    /// Holds what is on the chain against what the test pushed.
    pub fn compare(&self, expected: &[Expected]) -> Figures {
        let mut figures = Figures {
            keys: expected.len(),
            ..Figures::default()
        };
        let mut others = self.by_tag.clone();
        for key in expected {
            let effects = others.remove(&key.tag.0).unwrap_or_default();
            figures.effects += effects.len();
            figures.doubled += effects.len().saturating_sub(1);
            figures.missing += usize::from(effects.is_empty());
            figures.wrong += effects
                .iter()
                .filter(|effect| effect.to != key.to || effect.amount != key.amount)
                .count();
        }
        figures.strangers = others.values().map(Vec::len).sum();
        figures
    }

    /// How many effects each ledger has.
    pub fn by_ledger(&self) -> BTreeMap<u32, usize> {
        let mut counts = BTreeMap::new();
        for effect in self.by_tag.values().flatten() {
            *counts.entry(effect.ledger).or_default() += 1;
        }
        counts
    }
}

impl Figures {
    /// Every key has exactly one effect, the one it was pushed for, and nobody else has any.
    pub fn assert_each_once(&self) {
        let exact = Self {
            keys: self.keys,
            effects: self.keys,
            ..Self::default()
        };
        assert_eq!(*self, exact);
    }
}

fn succeeded(tx: &AppliedTransaction) -> bool {
    matches!(
        tx.result.result,
        TransactionResultResult::TxSuccess(_) | TransactionResultResult::TxFeeBumpInnerSuccess(_)
    )
}

fn operations(envelope: &TransactionEnvelope) -> &[Operation] {
    match envelope {
        TransactionEnvelope::TxV0(v0) => &v0.tx.operations,
        TransactionEnvelope::Tx(v1) => &v1.tx.operations,
        TransactionEnvelope::TxFeeBump(bump) => {
            let stellar_xdr::FeeBumpTransactionInnerTx::Tx(inner) = &bump.tx.inner_tx;
            &inner.tx.operations
        }
    }
}

/// Tag, payee and amount of every payment that names the treasury with a tag as its source.
fn payments(
    envelope: &TransactionEnvelope,
    treasury: AccountId,
) -> impl Iterator<Item = (u64, AccountId, i64)> + '_ {
    operations(envelope).iter().filter_map(move |operation| {
        let Some(MuxedAccount::MuxedEd25519(source)) = &operation.source_account else {
            return None;
        };
        let OperationBody::Payment(payment) = &operation.body else {
            return None;
        };
        let to = match &payment.destination {
            MuxedAccount::Ed25519(key) => key.0,
            MuxedAccount::MuxedEd25519(muxed) => muxed.ed25519.0,
        };
        (source.ed25519.0 == treasury.0).then_some((source.id, AccountId(to), payment.amount))
    })
}
