//! Whether an envelope's signatures carry enough weight, and whether each of them is needed.

use crate::xdr::{key_bytes, sha256};
use ed25519_dalek::{Signature, VerifyingKey};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use stellar_xdr::{
    AccountEntry, AccountId, DecoratedSignature, Hash, Signer, SignerKey,
    SignerKeyEd25519SignedPayload, Uint256,
};

/// Verified signatures remembered; an envelope is judged at submission, before and in each ledger, after each close.
const CACHE_ENTRIES: usize = 65_536;

/// Remembers which signatures were verified before.
#[derive(Debug, Default)]
pub struct SignatureCache {
    seen: Mutex<HashMap<Hash, bool>>,
}

impl SignatureCache {
    fn verify(&self, key: &[u8; 32], signature: &[u8], message: &[u8]) -> bool {
        let id = sha256(&[key, signature, message]);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = seen.get(&id) {
            return *known;
        }
        let valid = verify_ed25519(key, signature, message);
        if seen.len() >= CACHE_ENTRIES {
            seen.clear();
        }
        seen.insert(id, valid);
        valid
    }
}

fn verify_ed25519(key: &[u8; 32], signature: &[u8], message: &[u8]) -> bool {
    let Ok(signature) = Signature::from_slice(signature) else {
        return false;
    };
    VerifyingKey::from_bytes(key).is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

/// The signatures of one envelope over one hash, and which of them were of use so far.
pub struct SignatureChecker<'a> {
    hash: &'a Hash,
    signatures: &'a [DecoratedSignature],
    used: Vec<bool>,
    cache: &'a SignatureCache,
}

impl<'a> SignatureChecker<'a> {
    /// A checker that has seen no use of any signature.
    pub fn new(
        hash: &'a Hash,
        signatures: &'a [DecoratedSignature],
        cache: &'a SignatureCache,
    ) -> Self {
        Self {
            hash,
            signatures,
            used: vec![false; signatures.len()],
            cache,
        }
    }

    /// Whether the account's signers reach `threshold` with these signatures.
    pub fn account_signed(&mut self, account: &AccountEntry, threshold: u8) -> bool {
        let mut signers = account.signers.to_vec();
        let master = account.thresholds.0[0];
        if master > 0 {
            signers.insert(
                0,
                Signer {
                    key: SignerKey::Ed25519(Uint256(*key_bytes(&account.account_id))),
                    weight: u32::from(master),
                },
            );
        }
        self.signed(&signers, u32::from(threshold))
    }

    /// Whether the key of an account that does not exist has signed.
    pub fn key_signed(&mut self, account: &AccountId) -> bool {
        let signer = Signer {
            key: SignerKey::Ed25519(Uint256(*key_bytes(account))),
            weight: 1,
        };
        self.signed(&[signer], 0)
    }

    /// Whether every one of the extra signers a transaction asks for has signed.
    pub fn all_signed(&mut self, keys: &[SignerKey]) -> bool {
        let signers: Vec<Signer> = keys
            .iter()
            .map(|key| Signer {
                key: key.clone(),
                weight: 1,
            })
            .collect();
        let needed = u32::try_from(signers.len()).unwrap_or(u32::MAX);
        self.signed(&signers, needed)
    }

    /// Whether every signature was of use in some check.
    pub fn all_used(&self) -> bool {
        self.used.iter().all(|used| *used)
    }

    /// Adds up weights kind by kind in the network's order and stops at `needed`, so that what comes after counts as
    /// unused. Even a need of nothing takes one matching signature.
    fn signed(&mut self, signers: &[Signer], needed: u32) -> bool {
        let mut total = 0;
        for signer in signers {
            if matches!(&signer.key, SignerKey::PreAuthTx(hash) if hash.0 == self.hash.0) {
                total += weight(signer);
                if total >= needed {
                    return true;
                }
            }
        }
        let kinds: [fn(&SignerKey) -> bool; 3] = [
            |key| matches!(key, SignerKey::HashX(_)),
            |key| matches!(key, SignerKey::Ed25519(_)),
            |key| matches!(key, SignerKey::Ed25519SignedPayload(_)),
        ];
        for of_kind in kinds {
            let mut left: Vec<&Signer> = signers.iter().filter(|s| of_kind(&s.key)).collect();
            for index in 0..self.signatures.len() {
                let signature = &self.signatures[index];
                let Some(found) = left.iter().position(|s| self.matches(signature, &s.key)) else {
                    continue;
                };
                self.used[index] = true;
                total += weight(left.remove(found));
                if total >= needed {
                    return true;
                }
            }
        }
        false
    }

    fn matches(&self, signature: &DecoratedSignature, signer: &SignerKey) -> bool {
        let hint = signature.hint.0;
        let bytes = signature.signature.0.as_slice();
        match signer {
            SignerKey::Ed25519(key) => {
                hint == tail(&key.0) && self.cache.verify(&key.0, bytes, &self.hash.0)
            }
            SignerKey::HashX(hash) => hint == tail(&hash.0) && sha256(&[bytes]).0 == hash.0,
            SignerKey::Ed25519SignedPayload(signer) => {
                hint == payload_hint(signer)
                    && self
                        .cache
                        .verify(&signer.ed25519.0, bytes, signer.payload.as_slice())
            }
            // Its "signature" is the hash of the transaction itself.
            SignerKey::PreAuthTx(_) => false,
        }
    }
}

fn weight(signer: &Signer) -> u32 {
    signer.weight.min(u32::from(u8::MAX))
}

fn tail(bytes: &[u8; 32]) -> [u8; 4] {
    [bytes[28], bytes[29], bytes[30], bytes[31]]
}

fn payload_hint(signer: &SignerKeyEd25519SignedPayload) -> [u8; 4] {
    let payload = signer.payload.as_slice();
    let start = payload.len().saturating_sub(4);
    let mut hint = tail(&signer.ed25519.0);
    for (byte, mask) in hint.iter_mut().zip(&payload[start..]) {
        *byte ^= mask;
    }
    hint
}
