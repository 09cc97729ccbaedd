//! Reading an envelope back: whose it is, and what it does.

use soroban_client::xdr;

use crate::domain::ids::{AccountId, Pair, TxHash};
use crate::domain::key::KeyTag;
use crate::domain::operation::Operation;

use super::convert;
use super::effect::{self, Effect};
use super::fee_bump::max_time;
use super::network::NetworkId;

/// What an envelope says. A tag alone proves nothing, anybody can write one: it counts together with the operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// The pair it uses.
    pub pair: Pair,
    /// Hash of the whole.
    pub hash: TxHash,
    /// Hash of the inner transaction of a fee-bump.
    pub inner_hash: Option<TxHash>,
    /// Last close time at which a ledger may apply it, in unix seconds; `None`: it never expires.
    pub max_time: Option<u64>,
    /// The muxed id of its only operation's source.
    pub tag: Option<KeyTag>,
    /// In whose name its operations act: each of them signed.
    pub acting: Vec<AccountId>,
    /// Who pays, and what, if its only operation is of a kind that is built here.
    pub operation: Option<(AccountId, Operation)>,
    /// Events of all its operations, as far as they are of a kind that is built here.
    pub effects: Vec<Effect>,
}

/// The bytes are not those of an envelope that this version can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a transaction envelope that can be read")]
pub struct NotAnEnvelope;

/// Reads an envelope.
///
/// # Errors
/// [`NotAnEnvelope`] for bytes that cannot be read.
pub fn inspect(network: &NetworkId, xdr: &str) -> Result<Inspected, NotAnEnvelope> {
    let envelope: xdr::TransactionEnvelope = convert::read(xdr).ok_or(NotAnEnvelope)?;
    let id = network.id();
    let hash = TxHash(envelope.hash(id).map_err(|_| NotAnEnvelope)?);
    match envelope {
        xdr::TransactionEnvelope::TxV0(envelope) => {
            Ok(read(network, &envelope.tx.into(), hash, None))
        }
        xdr::TransactionEnvelope::Tx(envelope) => Ok(read(network, &envelope.tx, hash, None)),
        xdr::TransactionEnvelope::TxFeeBump(envelope) => {
            let xdr::FeeBumpTransactionInnerTx::Tx(inner) = envelope.tx.inner_tx;
            let inner_hash = TxHash(inner.hash(id).map_err(|_| NotAnEnvelope)?);
            Ok(read(network, &inner.tx, hash, Some(inner_hash)))
        }
    }
}

fn read(
    network: &NetworkId,
    tx: &xdr::Transaction,
    hash: TxHash,
    inner_hash: Option<TxHash>,
) -> Inspected {
    let source = |operation: &xdr::Operation| {
        let source = operation.source_account.as_ref();
        convert::muxed_back(source.unwrap_or(&tx.source_account))
    };
    let domain = |operation: &xdr::Operation| {
        let operation_back = convert::operation_back(&operation.body, &tx.memo)?;
        Some((source(operation).0, operation_back))
    };
    let effects = tx.operations.iter().filter_map(|operation| {
        domain(operation).map(|(payer, operation)| effect::expected(network, payer, &operation))
    });
    let only = match tx.operations.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let (account, _) = convert::muxed_back(&tx.source_account);
    Inspected {
        pair: Pair {
            account,
            sequence: tx.seq_num.0,
        },
        hash,
        inner_hash,
        max_time: max_time(&tx.cond),
        tag: only.and_then(|operation| source(operation).1).map(KeyTag),
        acting: tx
            .operations
            .iter()
            .map(|operation| source(operation).0)
            .collect(),
        operation: only.and_then(domain),
        effects: effects.collect(),
    }
}
