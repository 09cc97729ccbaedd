//! Keys of channel accounts, derived from one master seed as SEP-5 says: SLIP-10 for ed25519, path `m/44'/148'/index'`.
//! So the pool has one secret to keep, and any wallet that knows SEP-5 can recover its accounts.

use hmac::{Hmac, Mac};
use secrecy::zeroize::{Zeroize, Zeroizing};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha512;

use super::signer::{BadSecret, Signer};

/// Bit that marks a hardened child; ed25519 has no other kind.
const HARDENED: u32 = 1 << 31;
/// BIP-44's purpose and Stellar's coin type.
const ACCOUNT_ROOT: [u32; 2] = [44, 148];
/// Bounds that BIP-32 sets on a master seed, in bytes.
const SEED_BYTES: std::ops::RangeInclusive<usize> = 16..=64;

/// A node of the tree: key and chain code.
struct Node(Zeroizing<[u8; 64]>);

impl Node {
    fn key(&self) -> &[u8] {
        &self.0[..32]
    }

    fn chain_code(&self) -> &[u8] {
        &self.0[32..]
    }

    fn child(&self, index: u32) -> Self {
        let index = (index | HARDENED).to_be_bytes();
        Self(mac(self.chain_code(), &[&[0], self.key(), &index]))
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Zeroizing<[u8; 64]> {
    #[expect(clippy::expect_used, reason = "an HMAC takes keys of any length")]
    let mut mac = Hmac::<Sha512>::new_from_slice(key).expect("an HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    Zeroizing::new(mac.finalize().into_bytes().into())
}

/// The key of channel `index`. `seed` is the hex of a BIP-39 seed, or of any 16 to 64 random bytes.
///
/// # Errors
/// [`BadSecret`] for a seed that is not hex or out of bounds, and for an index of 2^31 and above.
pub fn derive(seed: &SecretString, index: u32) -> Result<Signer, BadSecret> {
    if index >= HARDENED {
        return Err(BadSecret::IndexTooLarge);
    }
    let seed = hex::decode(seed.expose_secret().trim())
        .map(Zeroizing::new)
        .map_err(|_| BadSecret::NotAMasterSeed)?;
    if !SEED_BYTES.contains(&seed.len()) {
        return Err(BadSecret::NotAMasterSeed);
    }
    let mut node = Node(mac(b"ed25519 seed", &[&seed]));
    for step in ACCOUNT_ROOT.into_iter().chain([index]) {
        node = node.child(step);
    }
    let mut key = [0; 32];
    key.copy_from_slice(node.key());
    let signer = Signer::from_seed(&key);
    key.zeroize();
    Ok(signer)
}

#[cfg(test)]
#[path = "channels_tests.rs"]
mod tests;
