//! Building and signing of payment envelopes. The channel account is the transaction's source (sequence and fee), the
//! treasury the operation's, named as a muxed account whose id is the key's tag: so the chain itself knows the key.

use soroban_client::account::{Account, AccountBehavior};
use soroban_client::transaction::{
    Transaction, TransactionBehavior, TransactionBuilder, TransactionBuilderBehavior,
};
use soroban_client::xdr;

use crate::domain::fees::OPERATIONS;
use crate::domain::ids::{AccountId, Pair, TxHash};
use crate::domain::key::KeyTag;
use crate::domain::operation::Operation;

use super::convert;
use super::network::NetworkId;
use super::signer::{SignError, Signer};

/// What an envelope is built from.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    /// The network it is for.
    pub network: &'a NetworkId,
    /// The pair it uses.
    pub pair: Pair,
    /// The pair's account.
    pub channel: &'a Signer,
    /// Who pays.
    pub treasury: &'a Signer,
    /// What it does.
    pub operation: &'a Operation,
    /// Tag of the idempotency key.
    pub tag: KeyTag,
    /// Bid for the whole, in stroops.
    pub fee: i64,
    /// Last close time, in unix seconds, at which a ledger may apply it.
    pub max_time: u64,
}

/// A signed envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedEnvelope {
    /// Its pair.
    pub pair: Pair,
    /// Hash of the whole: of the outer transaction for a fee-bump.
    pub hash: TxHash,
    /// Hash of the inner transaction for a fee-bump.
    pub inner_hash: Option<TxHash>,
    /// The signed bytes, base64 of `TransactionEnvelope`.
    pub xdr: String,
    /// Bid, in stroops.
    pub fee: i64,
    /// Operations it counts for.
    pub operations: i64,
    /// Last close time, in unix seconds, at which a ledger may apply it.
    pub max_time: u64,
}

/// Why no envelope was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A bid is positive, and 32 bits wide within a plain transaction.
    #[error("a bid of {0} stroops does not fit an envelope")]
    Fee(i64),
    /// A fee-bump offers at least its inner transaction's rate for one operation more.
    #[error(
        "a fee-bump of {offered} stroops is below its inner transaction's rate: {least} are needed"
    )]
    FeeBelowInner {
        /// Bid asked for.
        offered: i64,
        /// Least bid that the network takes.
        least: i64,
    },
    /// Sequences are positive.
    #[error("{0} is no sequence")]
    Sequence(i64),
    /// Only expiry kills an envelope that was never applied, so none is built without one.
    #[error("an envelope needs a time at which it expires")]
    NoExpiry,
    /// The key is not the pair's.
    #[error("the pair's account is {pair}, the key is of {key}")]
    WrongChannel {
        /// Account of the pair.
        pair: AccountId,
        /// Account of the key.
        key: AccountId,
    },
    /// A signature is missing.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The bytes are not those of an envelope that can be wrapped.
    #[error("not a signed payment envelope")]
    NotAnEnvelope,
    /// What was built does not hash to what was signed.
    #[error("the envelope does not hash to what was signed")]
    HashMismatch,
}

/// Builds and signs an envelope. Its hash is known, and was checked, before anybody can send it.
///
/// # Errors
/// [`BuildError`] when the recipe makes no valid envelope or a signature is missing; nothing has been sent anywhere.
pub async fn build(recipe: Recipe<'_>) -> Result<SignedEnvelope, BuildError> {
    let mut transaction = unsigned(&recipe)?;
    let hash = transaction.hash();
    transaction.signatures = signatures(&hash, [recipe.channel, recipe.treasury]).await?;
    let envelope = transaction
        .to_envelope()
        .map_err(|_| BuildError::NotAnEnvelope)?;
    let xdr = convert::write(&envelope);
    check_hash(recipe.network, &xdr, hash)?;
    Ok(SignedEnvelope {
        pair: recipe.pair,
        hash: TxHash(hash),
        inner_hash: None,
        xdr,
        fee: recipe.fee,
        operations: OPERATIONS,
        max_time: recipe.max_time,
    })
}

/// The transaction, with everything checked that the library would panic on.
fn unsigned(recipe: &Recipe<'_>) -> Result<Transaction, BuildError> {
    let fee = u32::try_from(recipe.fee).map_err(|_| BuildError::Fee(recipe.fee))?;
    if fee == 0 {
        return Err(BuildError::Fee(recipe.fee));
    }
    if recipe.max_time == 0 {
        return Err(BuildError::NoExpiry);
    }
    let Pair { account, sequence } = recipe.pair;
    if account != recipe.channel.account() {
        let key = recipe.channel.account();
        return Err(BuildError::WrongChannel { pair: account, key });
    }
    // The builder counts up from the account's present sequence.
    let before = sequence
        .checked_sub(1)
        .filter(|before| *before >= 0)
        .ok_or(BuildError::Sequence(sequence))?;
    let mut source = Account::new(&account.to_string(), &before.to_string())
        .map_err(|_| BuildError::Sequence(sequence))?;
    let bounds = xdr::TimeBounds {
        min_time: xdr::TimePoint(0),
        max_time: xdr::TimePoint(recipe.max_time),
    };
    let passphrase = recipe.network.passphrase();
    let operation = convert::operation(recipe.operation, recipe.treasury.account(), recipe.tag);
    let mut transaction = TransactionBuilder::new(&mut source, passphrase, Some(bounds))
        .fee(fee)
        .add_operation(operation)
        .build();
    transaction.memo = Some(convert::memo(recipe.operation.memo()));
    Ok(transaction)
}

/// One signature for each distinct account: the network refuses a signature too many.
async fn signatures(
    hash: &[u8; 32],
    signers: [&Signer; 2],
) -> Result<Vec<xdr::DecoratedSignature>, BuildError> {
    let [channel, treasury] = signers;
    let mut signatures = vec![decorated(hash, channel).await?];
    if treasury.account() != channel.account() {
        signatures.push(decorated(hash, treasury).await?);
    }
    Ok(signatures)
}

/// A signature with the hint that says whose it is.
pub(super) async fn decorated(
    hash: &[u8; 32],
    signer: &Signer,
) -> Result<xdr::DecoratedSignature, BuildError> {
    let signature = signer.sign(hash).await?;
    let AccountId([.., a, b, c, d]) = signer.account();
    Ok(xdr::DecoratedSignature {
        hint: xdr::SignatureHint([a, b, c, d]),
        signature: xdr::Signature(
            signature
                .try_into()
                .map_err(|_| SignError::Invalid(signer.account()))?,
        ),
    })
}

/// Hashes the bytes as they will be sent: the hash is what they are looked up by.
pub(super) fn check_hash(
    network: &NetworkId,
    xdr: &str,
    signed: [u8; 32],
) -> Result<(), BuildError> {
    let envelope: xdr::TransactionEnvelope = convert::read(xdr).ok_or(BuildError::NotAnEnvelope)?;
    match envelope.hash(network.id()) {
        Ok(hash) if hash == signed => Ok(()),
        Ok(_) | Err(_) => Err(BuildError::HashMismatch),
    }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
