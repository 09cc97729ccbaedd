//! Idempotency keys and what derives from them: the fingerprint of a request, the queue's job id, the chain's tag.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// Who owns a submission: the tenant of the API key that pushed it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tenant(String);

/// Names one intent of a tenant for ever: whatever is pushed under it takes effect at most once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(String);

/// Why a text cannot name a tenant or an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// No text at all.
    #[error("must not be empty")]
    Empty,
    /// More than the longest allowed.
    #[error("is longer than {0} characters")]
    TooLong(usize),
    /// Something else than visible ASCII.
    #[error("may hold visible ASCII characters only, no blanks")]
    Unprintable,
}

fn visible(text: &str, longest: usize) -> Result<String, BadName> {
    if text.is_empty() {
        return Err(BadName::Empty);
    }
    if text.len() > longest {
        return Err(BadName::TooLong(longest));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(BadName::Unprintable);
    }
    Ok(text.to_owned())
}

impl Tenant {
    /// Longest name, in characters.
    pub const MAX_CHARS: usize = 64;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tenant {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        visible(text, Self::MAX_CHARS).map(Self)
    }
}

impl IdempotencyKey {
    /// Longest key, in characters.
    pub const MAX_CHARS: usize = 255;

    /// The key of a leg or period of a business object, the same for the same parts on every call.
    ///
    /// The parts are hashed with their lengths, so that no two different triples give the same key.
    ///
    /// # Errors
    /// A part is empty, or longer than a key may be.
    pub fn derive(
        logical_operation: &str,
        business_id: &str,
        period: &str,
    ) -> Result<Self, BadName> {
        let mut hash = Sha256::new();
        for part in [logical_operation, business_id, period] {
            if part.is_empty() {
                return Err(BadName::Empty);
            }
            if part.len() > Self::MAX_CHARS {
                return Err(BadName::TooLong(Self::MAX_CHARS));
            }
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Ok(Self(format!("derived-{}", hex::encode(hash.finalize()))))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        visible(text, Self::MAX_CHARS).map(Self)
    }
}

/// SHA-256 of a request in canonical form: tells a repeated request from another one under the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// The fingerprint of a request's canonical bytes.
    #[must_use]
    pub fn of(canonical: &[u8]) -> Self {
        Self(Sha256::digest(canonical).into())
    }
}

/// What the chain knows of a key: the 64-bit id of the muxed operation source of every envelope of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyTag(pub u64);

fn digest(purpose: &str, tenant: &Tenant, key: &IdempotencyKey) -> [u8; 32] {
    let mut hash = Sha256::new();
    // The tenant cannot hold a zero byte, so the boundary between tenant and key is unambiguous.
    for part in [
        purpose.as_bytes(),
        &[0],
        tenant.0.as_bytes(),
        &[0],
        key.0.as_bytes(),
    ] {
        hash.update(part);
    }
    hash.finalize().into()
}

impl KeyTag {
    /// The tag of a tenant's key.
    #[must_use]
    pub fn of(tenant: &Tenant, key: &IdempotencyKey) -> Self {
        let mut first = [0; 8];
        first.copy_from_slice(&digest("tender/tag", tenant, key)[..8]);
        Self(u64::from_be_bytes(first))
    }
}

/// Id of a queue job: derived from the key and the round of dispatch, so that the queue itself rejects a second push
/// of a round and accepts the next one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobId(String);

impl JobId {
    /// The job of a key's `round`-th dispatch.
    #[must_use]
    pub fn of(tenant: &Tenant, key: &IdempotencyKey, round: i64) -> Self {
        let hash = digest("tender/job", tenant, key);
        // The prefix keeps the queue from reading the id as a number or a ULID of its own.
        Self(format!("tx:{}.{round}", hex::encode(&hash[..16])))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text is no id of a job of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a job id: tx:<32 hex digits>.<round> is needed")]
pub struct BadJobId;

impl FromStr for JobId {
    type Err = BadJobId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (hash, round) = text
            .strip_prefix("tx:")
            .and_then(|rest| rest.split_once('.'))
            .ok_or(BadJobId)?;
        let hash_is_hex = hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hash_is_hex || round.parse::<i64>().is_err() {
            return Err(BadJobId);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(tenant: &str, key: &str) -> (Tenant, IdempotencyKey) {
        (
            tenant.parse().expect("a tenant"),
            key.parse().expect("a key"),
        )
    }

    #[test]
    fn keys_are_visible_ascii_within_their_length() {
        assert_eq!("".parse::<IdempotencyKey>(), Err(BadName::Empty));
        assert_eq!("a b".parse::<IdempotencyKey>(), Err(BadName::Unprintable));
        assert_eq!(
            "schlüssel".parse::<IdempotencyKey>(),
            Err(BadName::Unprintable)
        );
        assert_eq!(
            "k".repeat(256).parse::<IdempotencyKey>(),
            Err(BadName::TooLong(255))
        );
        let longest = "k".repeat(255);
        let (tenant, key) = names("acme", &longest);
        assert_eq!((tenant.as_str(), key.as_str()), ("acme", longest.as_str()));
        let longest = "t".repeat(64);
        assert!(longest.parse::<Tenant>().is_ok());
        assert_eq!(
            format!("{longest}t").parse::<Tenant>(),
            Err(BadName::TooLong(64))
        );
    }

    #[test]
    fn derived_keys_depend_on_each_part_and_on_where_it_ends() {
        let key = |a, b, c| IdempotencyKey::derive(a, b, c).expect("a key");
        assert_eq!(key("rent", "7", "2026-01"), key("rent", "7", "2026-01"));
        assert_ne!(key("rent", "7", "2026-01"), key("rent", "7", "2026-02"));
        assert_ne!(key("rent", "71", "2"), key("rent", "7", "12"));
        assert!(
            key("rent", "7", "x")
                .as_str()
                .parse::<IdempotencyKey>()
                .is_ok()
        );
        assert_eq!(IdempotencyKey::derive("rent", "", "x"), Err(BadName::Empty));
        let part = "p".repeat(255);
        assert_ne!(key("rent", &part, "x"), key("rent", &part[1..], "x"));
        assert_eq!(
            IdempotencyKey::derive("rent", &format!("{part}p"), "x"),
            Err(BadName::TooLong(255))
        );
    }

    #[test]
    fn tags_and_jobs_belong_to_one_tenant_and_key() {
        let (acme, key) = names("acme", "invoice-7");
        let (other, _) = names("other", "x");
        assert_eq!(KeyTag::of(&acme, &key), KeyTag::of(&acme, &key));
        assert_ne!(KeyTag::of(&acme, &key), KeyTag::of(&other, &key));
        assert_ne!(JobId::of(&acme, &key, 1), JobId::of(&acme, &key, 2));
        assert!(JobId::of(&acme, &key, 1).as_str().starts_with("tx:"));
    }

    /// The chain and the ledger remember them: a version that derives others does not find what was paid before.
    #[test]
    fn what_derives_from_a_key_is_the_same_in_every_version() {
        let (acme, key) = names("acme", "invoice-7");
        assert_eq!(KeyTag::of(&acme, &key), KeyTag(0x752e_b24f_ca9f_bbcc));
        let derived = IdempotencyKey::derive("rent", "7", "2026-01").expect("a key");
        assert_eq!(
            derived.as_str(),
            "derived-c9b8b62ee764e86dffd7b119945b3ea427ccea599ad3a392616301b2619cb2cd"
        );
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex::encode(Fingerprint::of(b"abc").0), abc);
    }

    #[test]
    fn a_job_id_survives_the_round_trip_and_other_texts_do_not_parse() {
        let (acme, key) = names("acme", "invoice-7");
        let job = JobId::of(&acme, &key, 12);
        assert_eq!(job.as_str().parse(), Ok(job.clone()));
        assert_eq!(job.to_string(), job.as_str());
        let ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let damaged = job.as_str().replace("tx:3", "tx:g");
        let (short, unnumbered) = (&job.as_str()[..35], format!("{}x", job.as_str()));
        assert_ne!(damaged, job.as_str());
        for other in [
            "",
            "17",
            ulid,
            "tx:",
            "tx:ab.1",
            short,
            &damaged,
            &unnumbered,
        ] {
            assert_eq!(other.parse::<JobId>(), Err(BadJobId), "{other}");
        }
    }

    proptest! {
        #[test]
        fn the_boundary_between_tenant_and_key_counts(a in "[a-z]{1,6}", b in "[a-z]{1,6}", c in "[a-z]{1,6}") {
            let (one, long) = names(&a, &format!("{b}{c}"));
            let (two, short) = names(&format!("{a}{b}"), &c);
            prop_assert_ne!(KeyTag::of(&one, &long), KeyTag::of(&two, &short));
        }
    }
}
