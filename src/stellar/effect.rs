//! The event a payment leaves in the ledger (CAP-67), which is what makes a success believable.

use sha2::{Digest, Sha256};
use soroban_client::xdr;

use crate::domain::ids::AccountId;
use crate::domain::money::Amount;
use crate::domain::operation::{Asset, Operation};

use super::convert;
use super::network::NetworkId;

/// An amount of an asset that came from somewhere, went somewhere, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Effect {
    /// Id of the asset's contract; every asset has one, deployed or not.
    pub contract: [u8; 32],
    /// From where to where.
    pub movement: Movement,
    /// How much, in units of 10^-7.
    pub amount: Amount,
}

/// From where to where. An issuer does not hold its own asset: what it pays comes to exist, what it is paid ceases to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Movement {
    /// Between two holders, or from an issuer to itself.
    Transfer {
        /// Who paid.
        from: AccountId,
        /// Who was paid.
        to: AccountId,
    },
    /// From the issuer.
    Mint {
        /// Who was paid.
        to: AccountId,
    },
    /// To the issuer.
    Burn {
        /// Who paid.
        from: AccountId,
    },
}

/// The event that the operation must leave when the treasury performs it.
#[must_use]
pub fn expected(network: &NetworkId, treasury: AccountId, operation: &Operation) -> Effect {
    let (asset, to, amount) = match operation {
        Operation::Payment(payment) => {
            (&payment.asset, payment.destination.account, payment.amount)
        }
        Operation::CreateAccount(create) => {
            (&Asset::Native, create.destination, create.starting_balance)
        }
    };
    let issuer = match asset {
        Asset::Native => None,
        Asset::Issued { issuer, .. } => Some(*issuer),
    };
    let movement = match (issuer == Some(treasury), issuer == Some(to)) {
        (true, false) => Movement::Mint { to },
        (false, true) => Movement::Burn { from: treasury },
        (true, true) | (false, false) => Movement::Transfer { from: treasury, to },
    };
    Effect {
        contract: contract_of(network, asset),
        movement,
        amount,
    }
}

/// Id of the asset's contract on that network.
#[must_use]
pub fn contract_of(network: &NetworkId, asset: &Asset) -> [u8; 32] {
    let preimage = xdr::HashIdPreimage::ContractId(xdr::HashIdPreimageContractId {
        network_id: xdr::Hash(network.id()),
        contract_id_preimage: xdr::ContractIdPreimage::Asset(convert::asset(asset)),
    });
    Sha256::digest(convert::bytes(&preimage)).into()
}

/// The effect that an event of a transaction tells of, or `None` for an event of another kind.
pub(super) fn of_event(event: &xdr::ContractEvent) -> Option<Effect> {
    let xdr::ContractEventBody::V0(body) = &event.body;
    let xdr::ContractId(contract) = event.contract_id.as_ref()?;
    of_parts(contract.0, &body.topics, &body.data)
}

/// The effect that topics and data of a contract's event tell of.
pub(super) fn of_parts(
    contract: [u8; 32],
    topics: &[xdr::ScVal],
    data: &xdr::ScVal,
) -> Option<Effect> {
    let (xdr::ScVal::Symbol(name), rest) = topics.split_first()? else {
        return None;
    };
    let movement = match (name.0.as_slice(), rest) {
        (b"transfer", [from, to, _asset]) => Movement::Transfer {
            from: account_of(from)?,
            to: account_of(to)?,
        },
        (b"mint", [to, _asset]) => Movement::Mint {
            to: account_of(to)?,
        },
        (b"burn", [from, _asset]) => Movement::Burn {
            from: account_of(from)?,
        },
        _ => return None,
    };
    Some(Effect {
        contract,
        movement,
        amount: amount_of(data)?,
    })
}

fn account_of(topic: &xdr::ScVal) -> Option<AccountId> {
    match topic {
        xdr::ScVal::Address(xdr::ScAddress::Account(account)) => {
            Some(convert::account_back(account))
        }
        _ => None,
    }
}

/// The amount, alone or, beside a memo or a muxed id, in a map.
fn amount_of(data: &xdr::ScVal) -> Option<Amount> {
    let amount = match data {
        xdr::ScVal::I128(parts) => i128::from(parts),
        xdr::ScVal::Map(Some(map)) => map.0.iter().find_map(|entry| match entry {
            xdr::ScMapEntry {
                key: xdr::ScVal::Symbol(key),
                val: xdr::ScVal::I128(parts),
            } if key.0.as_slice() == b"amount" => Some(i128::from(parts)),
            _ => None,
        })?,
        _ => return None,
    };
    Amount::from_units(i64::try_from(amount).ok()?).ok()
}

#[cfg(test)]
#[path = "effect_tests.rs"]
mod tests;
