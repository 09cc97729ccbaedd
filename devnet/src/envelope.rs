//! A submitted envelope, decoded once and kept with everything the rules ask of it.

use crate::xdr::{MAX_DEPTH, account_of, sha256, to_bytes};
use stellar_xdr::{
    AccountId, DecoratedSignature, EnvelopeType, FeeBumpTransactionInnerTx, Hash, LedgerBounds,
    Limits, MuxedAccount, Operation, Preconditions, PreconditionsV2, ReadXdr, TimeBounds,
    Transaction, TransactionEnvelope, TransactionExt, TransactionV0Envelope, TransactionV1Envelope,
};

/// The largest envelope the network's RPC takes, in bytes.
pub const MAX_ENVELOPE_BYTES: usize = 1_000_000;

/// What the outer envelope of a fee-bump adds.
#[derive(Clone, Debug)]
pub struct FeeBump {
    /// Who pays.
    pub fee_source: AccountId,
    /// The bid for everything, in stroops; may be negative in a malformed envelope.
    pub fee: i64,
    /// Signatures over the outer transaction.
    pub signatures: Vec<DecoratedSignature>,
    /// Hash of the inner transaction.
    pub inner_hash: Hash,
    /// SHA-256 of the inner envelope's bytes, signatures included.
    pub inner_bytes_hash: Hash,
}

/// A decoded envelope: a transaction, perhaps inside a fee-bump.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The envelope as the network keeps it: version 0 is converted to version 1.
    pub envelope: TransactionEnvelope,
    /// Its hash, which look-ups go by; of the outer transaction for a fee-bump.
    pub hash: Hash,
    /// SHA-256 of the whole envelope, signatures included; bans and duplicates go by it.
    pub bytes_hash: Hash,
    /// The transaction; the inner one of a fee-bump.
    pub tx: TransactionV1Envelope,
    /// The outer part of a fee-bump.
    pub bump: Option<FeeBump>,
    source: AccountId,
}

impl Submitted {
    /// Decodes the binary XDR of a `TransactionEnvelope`.
    ///
    /// # Errors
    /// The bytes are not exactly one envelope.
    pub fn decode(bytes: &[u8], network_id: &Hash) -> Result<Self, stellar_xdr::Error> {
        let limits = Limits {
            depth: MAX_DEPTH,
            len: MAX_ENVELOPE_BYTES,
        };
        Ok(Self::new(
            TransactionEnvelope::from_xdr(bytes, limits)?,
            network_id,
        ))
    }

    /// Takes a decoded envelope apart.
    pub fn new(envelope: TransactionEnvelope, network_id: &Hash) -> Self {
        match envelope {
            TransactionEnvelope::TxV0(v0) => Self::plain(to_v1(v0), network_id),
            TransactionEnvelope::Tx(v1) => Self::plain(v1, network_id),
            TransactionEnvelope::TxFeeBump(outer) => {
                let FeeBumpTransactionInnerTx::Tx(inner) = &outer.tx.inner_tx;
                let inner = Self::plain(inner.clone(), network_id);
                let hash = hash_of(network_id, EnvelopeType::TxFeeBump, &to_bytes(&outer.tx));
                let bump = FeeBump {
                    fee_source: account_of(&outer.tx.fee_source),
                    fee: outer.tx.fee,
                    signatures: outer.signatures.to_vec(),
                    inner_hash: inner.hash,
                    inner_bytes_hash: inner.bytes_hash,
                };
                let envelope = TransactionEnvelope::TxFeeBump(outer);
                Self {
                    hash,
                    bytes_hash: sha256(&[&to_bytes(&envelope)]),
                    envelope,
                    tx: inner.tx,
                    bump: Some(bump),
                    source: inner.source,
                }
            }
        }
    }

    fn plain(tx: TransactionV1Envelope, network_id: &Hash) -> Self {
        let envelope = TransactionEnvelope::Tx(tx.clone());
        Self {
            hash: hash_of(network_id, EnvelopeType::Tx, &to_bytes(&tx.tx)),
            bytes_hash: sha256(&[&to_bytes(&envelope)]),
            source: account_of(&tx.tx.source_account),
            envelope,
            tx,
            bump: None,
        }
    }

    /// The transaction; the inner one of a fee-bump.
    pub fn inner(&self) -> &Transaction {
        &self.tx.tx
    }

    /// Hash of the transaction itself; of the inner one for a fee-bump.
    pub fn inner_hash(&self) -> &Hash {
        self.bump.as_ref().map_or(&self.hash, |b| &b.inner_hash)
    }

    /// The account whose sequence number is used.
    pub fn source(&self) -> &AccountId {
        &self.source
    }

    /// The account that pays the fee.
    pub fn fee_source(&self) -> &AccountId {
        self.bump.as_ref().map_or(&self.source, |b| &b.fee_source)
    }

    /// The sequence number it uses.
    pub fn sequence(&self) -> i64 {
        self.inner().seq_num.0
    }

    /// The whole bid, in stroops.
    pub fn bid(&self) -> i64 {
        self.bump
            .as_ref()
            .map_or_else(|| self.inner_bid(), |b| b.fee)
    }

    /// The bid of the transaction itself, in stroops.
    pub fn inner_bid(&self) -> i64 {
        i64::from(self.inner().fee)
    }

    /// Its operations.
    pub fn operations(&self) -> &[Operation] {
        &self.inner().operations
    }

    /// Operations that count for fees and limits: a fee-bump counts as one more.
    pub fn operation_count(&self) -> u32 {
        inner_operation_count(self.inner()) + u32::from(self.bump.is_some())
    }

    /// Whether it carries Soroban resource data.
    pub fn has_soroban_data(&self) -> bool {
        matches!(self.inner().ext, TransactionExt::V1(_))
    }

    /// The time it may be applied in, if it says.
    pub fn time_bounds(&self) -> Option<&TimeBounds> {
        match &self.inner().cond {
            Preconditions::None => None,
            Preconditions::Time(bounds) => Some(bounds),
            Preconditions::V2(v2) => v2.time_bounds.as_ref(),
        }
    }

    /// The ledgers it may be applied in, if it says.
    pub fn ledger_bounds(&self) -> Option<&LedgerBounds> {
        self.conditions()?.ledger_bounds.as_ref()
    }

    /// Its other preconditions, if it has any.
    pub fn conditions(&self) -> Option<&PreconditionsV2> {
        match &self.inner().cond {
            Preconditions::None | Preconditions::Time(_) => None,
            Preconditions::V2(v2) => Some(v2),
        }
    }

    /// The account an operation acts for.
    pub fn operation_source(&self, operation: &Operation) -> AccountId {
        operation
            .source_account
            .as_ref()
            .map_or_else(|| self.source.clone(), account_of)
    }

    /// The address an operation acts for, with its muxed id.
    pub fn operation_address<'a>(&'a self, operation: &'a Operation) -> &'a MuxedAccount {
        operation
            .source_account
            .as_ref()
            .unwrap_or(&self.inner().source_account)
    }
}

/// Operations of a transaction without a fee-bump around it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a transaction has at most 100 operations"
)]
pub fn inner_operation_count(tx: &Transaction) -> u32 {
    tx.operations.len() as u32
}

fn hash_of(network_id: &Hash, kind: EnvelopeType, tx: &[u8]) -> Hash {
    sha256(&[&network_id.0, &to_bytes(&kind), tx])
}

fn to_v1(v0: TransactionV0Envelope) -> TransactionV1Envelope {
    let tx = v0.tx;
    TransactionV1Envelope {
        tx: Transaction {
            source_account: MuxedAccount::Ed25519(tx.source_account_ed25519),
            fee: tx.fee,
            seq_num: tx.seq_num,
            cond: tx
                .time_bounds
                .map_or(Preconditions::None, Preconditions::Time),
            memo: tx.memo,
            operations: tx.operations,
            ext: TransactionExt::V0,
        },
        signatures: v0.signatures,
    }
}
