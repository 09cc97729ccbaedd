//! API keys: made, listed, revoked, and checked against what a caller shows.
//!
//! A key is written `tender_<id>_<secret>`. The ledger keeps the SHA-256 of the secret only; 256 random bits need no
//! slower hash. The secret is shown once, when the key is made.

use std::fmt;
use std::str::FromStr;

use rand::RngCore;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::domain::key::Tenant;
use crate::ledger::Ledger;
use crate::ledger::LedgerError;
use crate::ledger::{ApiKey, NewKey};

const PREFIX: &str = "tender";
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
/// Longest name of a key, in characters.
const MAX_NAME: usize = 100;

/// What a key allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Push transactions of the key's tenant.
    TransactionsWrite,
    /// Read transactions of the key's tenant.
    TransactionsRead,
    /// Staff: read every tenant's transactions.
    OutboxRead,
    /// Staff: requeue and cancel every tenant's transactions.
    OutboxWrite,
    /// Staff: make and revoke API keys.
    KeysWrite,
    /// Staff: read the audit log.
    AuditRead,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 6] = [
        Self::TransactionsWrite,
        Self::TransactionsRead,
        Self::OutboxRead,
        Self::OutboxWrite,
        Self::KeysWrite,
        Self::AuditRead,
    ];

    /// The name in the API and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TransactionsWrite => "transactions:write",
            Self::TransactionsRead => "transactions:read",
            Self::OutboxRead => "outbox:read",
            Self::OutboxWrite => "outbox:write",
            Self::KeysWrite => "keys:write",
            Self::AuditRead => "audit:read",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text is no scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a scope: one of transactions:write, transactions:read, outbox:read, outbox:write, keys:write, audit:read is needed"
)]
pub struct BadScope;

impl FromStr for Scope {
    type Err = BadScope;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or(BadScope)
    }
}

/// Why no key was made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// No scope at all.
    #[error("a key needs at least one scope")]
    NoScope,
    /// The name is empty or too long.
    #[error("the name of a key has 1 to {MAX_NAME} characters, none of them a control character")]
    BadName,
    /// The ledger could not do it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// A key that was just made: the only time its secret is known.
#[derive(Debug)]
pub struct Issued {
    /// Identity of the key, not secret.
    pub id: String,
    /// What the caller sends: `tender_<id>_<secret>`.
    pub token: SecretString,
}

/// Makes a key for a tenant.
///
/// # Errors
/// [`CreateError`].
pub async fn create(
    ledger: &Ledger,
    tenant: &Tenant,
    name: &str,
    scopes: &[Scope],
) -> Result<Issued, CreateError> {
    if scopes.is_empty() {
        return Err(CreateError::NoScope);
    }
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(CreateError::BadName);
    }
    let id = random_hex::<ID_BYTES>();
    let secret = random_hex::<SECRET_BYTES>();
    let mut scopes = scopes.to_vec();
    scopes.sort_unstable();
    scopes.dedup();
    let key = NewKey {
        id: id.clone(),
        tenant: tenant.clone(),
        secret_hash: hash(&secret),
        scopes: scopes.iter().map(ToString::to_string).collect(),
        name: name.to_owned(),
    };
    step!("keys.create", ledger.add_key(key).await)?;
    let token = SecretString::from(format!("{PREFIX}_{id}_{secret}"));
    Ok(Issued { id, token })
}

/// All keys, without secrets.
///
/// # Errors
/// [`LedgerError`].
pub async fn list(ledger: &Ledger) -> Result<Vec<ApiKey>, LedgerError> {
    ledger.list_keys().await
}

/// Revokes a key for good. False if there is no such key, or it was revoked before.
///
/// # Errors
/// [`LedgerError`].
pub async fn revoke(ledger: &Ledger, id: &str) -> Result<bool, LedgerError> {
    ledger.revoke_key(id).await
}

/// What a caller shows: the identity of a key, and its secret.
pub struct Token {
    /// Identity of the key.
    pub id: String,
    secret: SecretString,
}

impl Token {
    /// Takes a token apart. `None` for a text that no key of ours can be.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text
            .strip_prefix(PREFIX)?
            .strip_prefix('_')?
            .split_once('_')?;
        let hex = |text: &str, bytes: usize| {
            text.len() == 2 * bytes && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        (hex(id, ID_BYTES) && hex(secret, SECRET_BYTES)).then(|| Self {
            id: id.to_owned(),
            secret: SecretString::from(secret),
        })
    }

    /// Whether the secret is the key's. Takes the same time wherever they differ.
    #[must_use]
    pub fn opens(&self, key: &ApiKey) -> bool {
        let shown = hash(self.secret.expose_secret());
        bool::from(shown.ct_eq(&key.secret_hash)) && self.id == key.id
    }
}

/// Whether the key allows it. A key that was revoked allows nothing.
#[must_use]
pub fn allows(key: &ApiKey, scope: Scope) -> bool {
    key.revoked_at.is_none() && key.scopes.iter().any(|held| held == scope.as_str())
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn random_hex<const N: usize>() -> String {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    hex::encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: &str) -> ApiKey {
        ApiKey {
            id: "00112233aabbccdd".to_owned(),
            tenant: "acme".parse().expect("a tenant"),
            secret_hash: hash(secret),
            scopes: vec!["transactions:read".to_owned()],
            name: "test".to_owned(),
            created_at: 0,
            revoked_at: None,
        }
    }

    #[test]
    fn only_the_right_secret_of_the_right_key_opens() {
        let secret = "ab".repeat(32);
        let stored = key(&secret);
        let token = |id: &str, secret: &str| Token::parse(&format!("tender_{id}_{secret}"));
        assert!(token(&stored.id, &secret).expect("a token").opens(&stored));
        let wrong = "ac".repeat(32);
        assert!(!token(&stored.id, &wrong).expect("a token").opens(&stored));
        let other = "00112233aabbccde";
        assert!(!token(other, &secret).expect("a token").opens(&stored));
    }

    #[test]
    fn texts_that_are_no_token_do_not_parse() {
        let secret = "ab".repeat(32);
        for text in [
            String::new(),
            "tender".to_owned(),
            "tender__".to_owned(),
            format!("tender_00112233aabbccdd_{}", &secret[1..]),
            format!("tender_00112233aabbccdd_{secret}0"),
            format!("other_00112233aabbccdd_{secret}"),
            format!("tender_0011_{secret}"),
            format!("tender_00112233aabbccdz_{secret}"),
        ] {
            assert!(Token::parse(&text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_key_allows_its_scopes_until_it_is_revoked() {
        let mut stored = key("x");
        assert!(allows(&stored, Scope::TransactionsRead));
        assert!(!allows(&stored, Scope::TransactionsWrite));
        stored.revoked_at = Some(1);
        assert!(!allows(&stored, Scope::TransactionsRead));
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(scope));
        }
    }
}
