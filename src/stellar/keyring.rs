//! Whose payments are made where, and the keys that sign them.

use std::collections::HashMap;

use super::network::NetworkId;
use super::signer::Signer;
use crate::domain::ids::AccountId;

/// The public side: the network, and the account that pays.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The network.
    pub network: NetworkId,
    /// The account that pays.
    pub treasury: AccountId,
}

/// Every key a worker signs payments with.
pub struct KeyRing {
    treasury: Signer,
    channels: HashMap<AccountId, Signer>,
}

/// Keys that must not serve together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadKeyRing {
    /// A channel account is moved by nothing but its own submissions.
    #[error("{0} pays or bids, and so cannot be a channel account too")]
    ChannelServesTwice(AccountId),
}

impl KeyRing {
    /// The keys of a treasury and its channel accounts.
    ///
    /// # Errors
    /// [`BadKeyRing`] when the treasury or the fee source is among the channels, which configuration cannot see when
    /// channels derive from a seed.
    pub fn new(
        treasury: Signer,
        fee_source: AccountId,
        channels: Vec<Signer>,
    ) -> Result<Self, BadKeyRing> {
        let channels: HashMap<_, _> = channels
            .into_iter()
            .map(|signer| (signer.account(), signer))
            .collect();
        for account in [treasury.account(), fee_source] {
            if channels.contains_key(&account) {
                return Err(BadKeyRing::ChannelServesTwice(account));
            }
        }
        Ok(Self { treasury, channels })
    }

    /// The key of the account that pays.
    #[must_use]
    pub fn treasury(&self) -> &Signer {
        &self.treasury
    }

    /// The key of a channel account, if this process has it.
    #[must_use]
    pub fn channel(&self, account: AccountId) -> Option<&Signer> {
        self.channels.get(&account)
    }

    /// The channel accounts that this process has keys for.
    #[must_use]
    pub fn channels(&self) -> Vec<AccountId> {
        self.channels.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_treasury_is_no_channel() {
        let signer = |byte| Signer::from_seed(&[byte; 32]);
        let fee_source = signer(2).account();
        assert!(KeyRing::new(signer(1), fee_source, vec![signer(3), signer(4)]).is_ok());
        for twice in [signer(1), signer(2)] {
            let refused = KeyRing::new(signer(1), fee_source, vec![signer(3), twice.clone()]).err();
            assert_eq!(
                refused,
                Some(BadKeyRing::ChannelServesTwice(twice.account()))
            );
        }
    }
}
