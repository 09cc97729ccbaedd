//! Keys that sign. Secrets stay inside: what is printed of a signer is its public key.

use std::fmt;
use std::sync::Arc;

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use soroban_client::signing;

use crate::domain::ids::AccountId;

/// An account's key. Cloning shares the secret; it is wiped with the last clone.
#[derive(Clone)]
pub struct Signer {
    account: AccountId,
    key: Key,
}

/// Where the secret is. A signer in another process or device is one more variant: [`Signer::sign`] is asynchronous for it.
#[derive(Clone)]
enum Key {
    /// In this process: the ed25519 seed followed by the public key, as libsodium wants it.
    Local(Arc<Zeroizing<[u8; 64]>>),
}

/// A text or a path gives no key. Never says what the text was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    /// Not a strkey seed.
    #[error("not a secret key: an S... seed of 56 characters is needed")]
    NotASeed,
    /// Not the hex digits of a master seed.
    #[error("not a master seed: 32 to 128 hex digits are needed")]
    NotAMasterSeed,
    /// Above what a hardened path can hold.
    #[error("channel indexes go up to {}", i32::MAX)]
    IndexTooLarge,
}

/// A signature could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The key gave a signature that its own public key does not accept.
    #[error("the key of {0} gave a signature that does not verify")]
    Invalid(AccountId),
}

impl Signer {
    /// The signer of a strkey seed (`S...`).
    ///
    /// # Errors
    /// [`BadSecret::NotASeed`] for anything else.
    pub fn from_secret(secret: &SecretString) -> Result<Self, BadSecret> {
        let mut seed = stellar_strkey::ed25519::PrivateKey::from_string(secret.expose_secret())
            .map_err(|_| BadSecret::NotASeed)?;
        let signer = Self::from_seed(&seed.0);
        secrecy::zeroize::Zeroize::zeroize(&mut seed.0);
        Ok(signer)
    }

    /// The signer of a raw ed25519 seed.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let public = signing::generate(seed);
        let mut key = Zeroizing::new([0; 64]);
        key[..32].copy_from_slice(seed);
        key[32..].copy_from_slice(&public);
        Self {
            account: AccountId(public),
            key: Key::Local(Arc::new(key)),
        }
    }

    /// The account whose key this is.
    #[must_use]
    pub fn account(&self) -> AccountId {
        self.account
    }

    /// Signs a hash. The signature has been checked.
    ///
    /// # Errors
    /// [`SignError`] when the key gave no valid signature.
    #[expect(
        clippy::unused_async,
        reason = "a remote key answers over the network: callers wait for either kind alike"
    )]
    pub async fn sign(&self, hash: &[u8; 32]) -> Result<[u8; 64], SignError> {
        let signature = match &self.key {
            Key::Local(key) => signing::sign(hash, key.as_slice()),
        };
        if signing::verify(hash, &signature, &self.account.0) {
            Ok(signature)
        } else {
            Err(SignError::Invalid(self.account))
        }
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.account)
    }
}

#[cfg(test)]
#[path = "signer_tests.rs"]
mod tests;
