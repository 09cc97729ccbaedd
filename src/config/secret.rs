//! Secrets that were checked for their form and never show themselves.

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use stellar_strkey::Strkey;

/// Secret key of a Stellar account, in its `S...` form with a checksum that holds.
#[derive(Clone, Debug)]
pub struct SigningSecret(SecretString);

/// Seed of the channel accounts: 16 to 64 bytes, as SEP-5 starts from.
#[derive(Clone, Debug)]
pub struct ChannelSeed(SecretSlice<u8>);

impl SigningSecret {
    /// Takes the `S...` form of a secret key.
    ///
    /// # Errors
    /// What is wrong, without repeating any of it.
    pub fn parse(text: &str) -> Result<Self, String> {
        match Strkey::from_string(text) {
            Ok(Strkey::PrivateKeyEd25519(_)) => Ok(Self(text.to_owned().into())),
            Ok(_) => Err("is a public address, not a secret key (S...)".to_owned()),
            Err(_) if text.is_empty() => Err("is empty".to_owned()),
            Err(_) => Err("is not a secret key: S and 55 characters, with a checksum".to_owned()),
        }
    }

    /// The `S...` form, for the signer alone.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl PartialEq for SigningSecret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl ChannelSeed {
    /// Takes the seed in hex.
    ///
    /// # Errors
    /// What is wrong, without repeating any of it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains(' ') {
            return Err("looks like a mnemonic: give its 64-byte BIP-39 seed in hex".to_owned());
        }
        let bytes = hex::decode(text).map_err(|_| "is not hex: two of 0-9, a-f per byte")?;
        if !(16..=64).contains(&bytes.len()) {
            return Err(format!("must have 16 to 64 bytes, not {}", bytes.len()));
        }
        if bytes.iter().all(|b| bytes.first() == Some(b)) {
            return Err("repeats one byte: anybody can guess it".to_owned());
        }
        Ok(Self(bytes.into()))
    }

    /// The bytes, for the derivation alone.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        self.0.expose_secret()
    }
}
