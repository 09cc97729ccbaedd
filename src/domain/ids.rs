//! Identities: submissions, accounts, sequences and hashes.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// Public identity of a submission: random, so that a status URL cannot be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubmissionId(pub Uuid);

impl fmt::Display for SubmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SubmissionId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self)
    }
}

/// An account's ed25519 public key, written as a `G...` address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountId(pub [u8; 32]);

/// A text is no account address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an account address: a G... key of 56 characters is needed")]
pub struct BadAccount;

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        stellar_strkey::ed25519::PublicKey(self.0)
            .to_string()
            .as_str()
            .fmt(f)
    }
}

impl fmt::Debug for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for AccountId {
    type Err = BadAccount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        stellar_strkey::ed25519::PublicKey::from_string(text)
            .map(|key| Self(key.0))
            .map_err(|_| BadAccount)
    }
}

/// Hash of a transaction or of a fee-bump: SHA-256 over network id and transaction, written in hex.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxHash(pub [u8; 32]);

impl fmt::Display for TxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::encode(self.0).fmt(f)
    }
}

impl fmt::Debug for TxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for TxHash {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

/// The one slot of the network a submission may use: the network applies at most one transaction for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The channel account that is the transaction's source.
    pub account: AccountId,
    /// The transaction's sequence number.
    pub sequence: i64,
}

/// Token of one claim. Random, so that neither a requeue nor a restored database can bring one back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence(pub Uuid);

/// Version of a submission's row: each transition moves it by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_the_round_trip_and_a_damaged_one_does_not_parse() {
        let account = AccountId([7; 32]);
        let text = account.to_string();
        assert!(text.starts_with('G') && text.len() == 56);
        assert_eq!(text.parse(), Ok(account));
        let damaged = text.replacen('A', "B", 1);
        assert_eq!(damaged.parse::<AccountId>(), Err(BadAccount));
        assert_eq!("".parse::<AccountId>(), Err(BadAccount));
        assert_eq!(format!("{account:?}"), text, "logs tell it as people do");
    }

    #[test]
    fn hashes_and_submissions_are_written_as_they_are_read() {
        let hash = TxHash([0xab; 32]);
        let text = "ab".repeat(32);
        assert_eq!(
            (hash.to_string(), format!("{hash:?}")),
            (text.clone(), text.clone())
        );
        assert_eq!(text.parse(), Ok(hash));
        assert!(text[2..].parse::<TxHash>().is_err());
        let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        let submission: SubmissionId = id.parse().expect("an id");
        assert_eq!(submission.to_string(), id);
        assert!("67e55044".parse::<SubmissionId>().is_err());
    }
}
