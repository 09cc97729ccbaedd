//! Fee-bumps (CAP-15): a higher bid around the same inner transaction. Its time bounds and sequence stay the inner ones.

use soroban_client::xdr;

use crate::domain::fees::{FEE_BUMP_OPERATIONS, OPERATIONS};
use crate::domain::ids::{Pair, TxHash};

use super::convert;
use super::envelope::{BuildError, SignedEnvelope, check_hash, decorated};
use super::network::NetworkId;
use super::signer::Signer;

/// Wraps the transaction of a recorded envelope (its inner one, when that is a fee-bump itself) in a fee-bump of `fee`
/// stroops in all, paid by the fee source.
///
/// # Errors
/// [`BuildError`] when the bytes are no envelope with an expiry, or the bid is below the inner transaction's rate.
pub async fn fee_bump(
    network: &NetworkId,
    recorded: &str,
    fee_source: &Signer,
    fee: i64,
) -> Result<SignedEnvelope, BuildError> {
    let inner = innermost(recorded).ok_or(BuildError::NotAnEnvelope)?;
    let (account, _) = convert::muxed_back(&inner.tx.source_account);
    let sequence = inner.tx.seq_num.0;
    let max_time = max_time(&inner.tx.cond).ok_or(BuildError::NoExpiry)?;
    check_bid(fee, &inner.tx)?;
    let inner_hash = inner
        .hash(network.id())
        .map_err(|_| BuildError::NotAnEnvelope)?;
    let tx = xdr::FeeBumpTransaction {
        fee_source: convert::muxed(fee_source.account(), None),
        fee,
        inner_tx: xdr::FeeBumpTransactionInnerTx::Tx(inner),
        ext: xdr::FeeBumpTransactionExt::V0,
    };
    let hash = tx
        .hash(network.id())
        .map_err(|_| BuildError::NotAnEnvelope)?;
    let signature = decorated(&hash, fee_source).await?;
    let signatures = [signature]
        .try_into()
        .map_err(|_| BuildError::NotAnEnvelope)?;
    let envelope =
        xdr::TransactionEnvelope::TxFeeBump(xdr::FeeBumpTransactionEnvelope { tx, signatures });
    let xdr = convert::write(&envelope);
    check_hash(network, &xdr, hash)?;
    Ok(SignedEnvelope {
        pair: Pair { account, sequence },
        hash: TxHash(hash),
        inner_hash: Some(TxHash(inner_hash)),
        xdr,
        fee,
        operations: FEE_BUMP_OPERATIONS,
        max_time,
    })
}

fn innermost(recorded: &str) -> Option<xdr::TransactionV1Envelope> {
    match convert::read(recorded)? {
        xdr::TransactionEnvelope::Tx(inner) => Some(inner),
        xdr::TransactionEnvelope::TxFeeBump(bump) => {
            let xdr::FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
            Some(inner)
        }
        xdr::TransactionEnvelope::TxV0(_) => None,
    }
}

/// The upper time bound, or `None` for a transaction that never expires.
pub(super) fn max_time(cond: &xdr::Preconditions) -> Option<u64> {
    let bounds = match cond {
        xdr::Preconditions::None => None,
        xdr::Preconditions::Time(bounds) => Some(bounds),
        xdr::Preconditions::V2(cond) => cond.time_bounds.as_ref(),
    };
    bounds
        .map(|bounds| bounds.max_time.0)
        .filter(|max_time| *max_time > 0)
}

fn check_bid(offered: i64, inner: &xdr::Transaction) -> Result<(), BuildError> {
    if offered <= 0 {
        return Err(BuildError::Fee(offered));
    }
    let least = i64::from(inner.fee)
        .saturating_mul(FEE_BUMP_OPERATIONS)
        .div_euclid(OPERATIONS);
    if offered < least {
        return Err(BuildError::FeeBelowInner { offered, least });
    }
    Ok(())
}
