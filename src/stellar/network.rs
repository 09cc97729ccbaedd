//! Which Stellar network signatures and contract ids are for.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// A network, known by its passphrase.
#[derive(Clone, PartialEq, Eq)]
pub struct NetworkId {
    passphrase: Arc<str>,
    id: [u8; 32],
}

impl NetworkId {
    /// The network of that passphrase.
    #[must_use]
    pub fn new(passphrase: &str) -> Self {
        Self {
            passphrase: passphrase.into(),
            id: Sha256::digest(passphrase).into(),
        }
    }

    /// The passphrase, as `getNetwork` tells it.
    #[must_use]
    pub fn passphrase(&self) -> &str {
        &self.passphrase
    }

    /// SHA-256 of the passphrase: it goes into everything that is hashed.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        self.id
    }
}

impl fmt::Debug for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NetworkId({})", self.passphrase)
    }
}
