//! Transactions that create accounts: several in one, from the treasury, with the treasury's own sequence.

use soroban_client::xdr;

use super::convert;
use super::envelope::{BuildError, SignedEnvelope, check_hash, decorated};
use super::network::NetworkId;
use super::signer::Signer;
use crate::domain::ids::{AccountId, Pair, TxHash};

/// What a funding transaction is built from.
#[derive(Clone, Copy, Debug)]
pub struct Funding<'a> {
    /// The network it is for.
    pub network: &'a NetworkId,
    /// Who pays, and whose sequence is used.
    pub treasury: &'a Signer,
    /// The sequence it uses.
    pub sequence: i64,
    /// The accounts to create; at most 100.
    pub accounts: &'a [AccountId],
    /// Starting balance of each, in stroops.
    pub balance: i64,
    /// Bid for one operation, in stroops.
    pub base_fee: i64,
    /// Last close time, in unix seconds, at which a ledger may apply it.
    pub max_time: u64,
}

/// Builds and signs a transaction that creates accounts.
///
/// # Errors
/// [`BuildError`] when there are too many accounts, or a signature is missing.
pub async fn create_accounts(funding: Funding<'_>) -> Result<SignedEnvelope, BuildError> {
    let operations = i64::try_from(funding.accounts.len()).unwrap_or(i64::MAX);
    let fee = funding.base_fee.saturating_mul(operations);
    let tx = xdr::Transaction {
        source_account: convert::muxed(funding.treasury.account(), None),
        fee: u32::try_from(fee).map_err(|_| BuildError::Fee(fee))?,
        seq_num: xdr::SequenceNumber(funding.sequence),
        cond: xdr::Preconditions::Time(xdr::TimeBounds {
            min_time: xdr::TimePoint(0),
            max_time: xdr::TimePoint(funding.max_time),
        }),
        memo: xdr::Memo::None,
        operations: funding
            .accounts
            .iter()
            .map(|account| create(*account, funding.balance))
            .collect::<Vec<_>>()
            .try_into()
            .map_err(|_| BuildError::NotAnEnvelope)?,
        ext: xdr::TransactionExt::V0,
    };
    let hash = tx
        .hash(funding.network.id())
        .map_err(|_| BuildError::NotAnEnvelope)?;
    let signatures = [decorated(&hash, funding.treasury).await?]
        .try_into()
        .map_err(|_| BuildError::NotAnEnvelope)?;
    let xdr = convert::write(&xdr::TransactionEnvelope::Tx(xdr::TransactionV1Envelope {
        tx,
        signatures,
    }));
    check_hash(funding.network, &xdr, hash)?;
    Ok(SignedEnvelope {
        pair: Pair {
            account: funding.treasury.account(),
            sequence: funding.sequence,
        },
        hash: TxHash(hash),
        inner_hash: None,
        xdr,
        fee,
        operations,
        max_time: funding.max_time,
    })
}

fn create(account: AccountId, balance: i64) -> xdr::Operation {
    xdr::Operation {
        source_account: None,
        body: xdr::OperationBody::CreateAccount(xdr::CreateAccountOp {
            destination: convert::account(account),
            starting_balance: balance,
        }),
    }
}
