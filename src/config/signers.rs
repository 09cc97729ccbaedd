//! The keys that sign: of the treasury, of the account that pays fees, of the channel accounts.

use super::reader::Reader;
use super::registry::Group;
use super::secret::{ChannelSeed, SigningSecret};
use super::setting::{Presence, Setting, Shape};
use super::show;
use crate::domain::ids::AccountId;
use secrecy::{ExposeSecret, SecretString};

/// Most channel accounts a pool may have.
const MAX_CHANNELS: usize = 1_000;
/// Said alike by worker and reconciler, so that a check of both says it once.
const NO_TREASURY: &str = "is required and not set (a reconciler can do with STELLAR_TREASURY_ACCOUNT and STELLAR_FEE_SOURCE_SECRET instead)";

/// Said of whatever names more than one.
const ONE_ACCOUNT: &str =
    "contradicts SEQUENCE_STRATEGY=serialized, for which there is exactly one channel account";

static TREASURY: Setting = Setting::text(
    "STELLAR_TREASURY_SECRET",
    Presence::Optional("workers and `channels` need it"),
    "secret key (S...)",
    "The account that payments come from.",
)
.secret();
static TREASURY_ACCOUNT: Setting = Setting::text(
    "STELLAR_TREASURY_ACCOUNT",
    Presence::Optional("the account of STELLAR_TREASURY_SECRET"),
    "address (G...)",
    "The account that payments come from, for a reconciler that does not hold its key.",
);
static FEE_SOURCE: Setting = Setting::text(
    "STELLAR_FEE_SOURCE_SECRET",
    Presence::Optional("the treasury pays"),
    "secret key (S...)",
    "The account that pays the fees of fee-bumps. A reconciler that has it needs no treasury key.",
)
.secret();
static SEED: Setting = Setting::text(
    "STELLAR_CHANNEL_SEED",
    Presence::Optional("STELLAR_CHANNEL_ACCOUNTS lists the accounts"),
    "16 to 64 bytes in hex",
    "Seed from which the channel accounts are derived by SEP-5 paths, so that one secret recovers the pool. For a mnemonic give its 64-byte BIP-39 seed. Excludes STELLAR_CHANNEL_ACCOUNTS.",
)
.secret();
static COUNT: Setting = Setting::new(
    "STELLAR_CHANNEL_COUNT",
    Presence::Default("20"),
    Shape::Number {
        unit: "accounts",
        min: 1,
        max: MAX_CHANNELS as u64,
    },
    "How many channel accounts are derived from the seed; at most so many submissions are under way at a time. 1 with SEQUENCE_STRATEGY=serialized.",
);
static ACCOUNTS: Setting = Setting::text(
    "STELLAR_CHANNEL_ACCOUNTS",
    Presence::Optional("STELLAR_CHANNEL_SEED derives them"),
    "secret keys (S...), comma-separated, at most 1000",
    "Secret keys of the channel accounts. Excludes STELLAR_CHANNEL_SEED and STELLAR_CHANNEL_COUNT.",
)
.secret();

static STRATEGY: Setting = Setting::text(
    "SEQUENCE_STRATEGY",
    Presence::Default("channels"),
    "channels or serialized",
    "How submissions get their sequence numbers. `channels`: each leases a channel account of its own. `serialized`: all share the one channel account there is, and its sequences are handed out in order; the network includes one transaction per account and ledger, so that is all it can do.",
);

static SETTINGS: &[&Setting] = &[
    &STRATEGY,
    &TREASURY,
    &TREASURY_ACCOUNT,
    &FEE_SOURCE,
    &SEED,
    &COUNT,
    &ACCOUNTS,
];
pub(super) const GROUP: Group = Group {
    title: "Signing keys",
    settings: SETTINGS,
};

/// Every key a worker signs with.
#[derive(Clone, Debug)]
pub struct Signers {
    /// Key of the account that payments come from.
    pub treasury: SigningSecret,
    /// Key of the account that pays for fee-bumps; the treasury's unless another was named.
    pub fee_source: SigningSecret,
    /// Keys of the channel accounts; one, where all submissions share it.
    pub channels: ChannelKeys,
    /// How submissions get their sequence numbers.
    pub strategy: SequenceStrategy,
}

/// How submissions get their sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceStrategy {
    /// Each leases a channel account of its own.
    Channels,
    /// All share one account, whose sequences are handed out in order.
    Serialized,
}

/// The account that payments come from, for those who do not sign for it.
#[derive(Clone, Debug)]
pub enum TreasuryName {
    /// By its address.
    Account(AccountId),
    /// By its key, since that was all that was set.
    Secret(SigningSecret),
}

/// Where the keys of the channel accounts come from.
#[derive(Clone, Debug)]
pub enum ChannelKeys {
    /// Derived from one seed.
    Seed {
        /// The seed.
        seed: ChannelSeed,
        /// How many accounts.
        count: u32,
    },
    /// Listed one by one; distinct, at least one.
    Listed(Vec<SigningSecret>),
}

impl ChannelKeys {
    /// Number of channel accounts.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Seed { count, .. } => *count as usize,
            Self::Listed(keys) => keys.len(),
        }
    }
}

impl Signers {
    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        if !r.is_set(&TREASURY) {
            r.fault(&TREASURY, NO_TREASURY);
        }
        let treasury = key(r, &TREASURY);
        let fee_source = key(r, &FEE_SOURCE).or_else(|| treasury.clone());
        let strategy = strategy(r);
        let channels = channels(r, strategy);
        if let Some(ChannelKeys::Listed(keys)) = &channels {
            let lists =
                |key: &Option<SigningSecret>| key.as_ref().is_some_and(|k| keys.contains(k));
            if lists(&treasury) || lists(&fee_source) {
                let problem = "lists the treasury or the fee source: a channel account must serve nothing else";
                r.fault(&ACCOUNTS, problem);
            }
        }
        Some(Self {
            treasury: treasury?,
            fee_source: fee_source?,
            channels: channels?,
            strategy: strategy?,
        })
    }
}

/// The account that payments come from: by its address where that is set, or else by its key.
pub(super) fn treasury_name(r: &mut Reader) -> Option<TreasuryName> {
    if let Some(text) = r.text(&TREASURY_ACCOUNT) {
        let account = text.parse().map(TreasuryName::Account);
        return account
            .map_err(|problem| r.fault(&TREASURY_ACCOUNT, problem.to_string()))
            .ok();
    }
    if !r.is_set(&TREASURY) {
        r.fault(&TREASURY, NO_TREASURY);
    }
    key(r, &TREASURY).map(TreasuryName::Secret)
}

/// The one key a reconciler needs, to raise fees: the fee source's, or the treasury's in its place.
pub(super) fn fee_source(r: &mut Reader) -> Option<SigningSecret> {
    if r.is_set(&FEE_SOURCE) {
        return key(r, &FEE_SOURCE);
    }
    if !r.is_set(&TREASURY) {
        r.fault(&TREASURY, NO_TREASURY);
    }
    key(r, &FEE_SOURCE).or_else(|| key(r, &TREASURY))
}

fn key(r: &mut Reader, setting: &'static Setting) -> Option<SigningSecret> {
    let secret = r.secret(setting)?;
    let key = SigningSecret::parse(secret.expose_secret());
    key.map_err(|problem| r.fault(setting, problem)).ok()
}

fn strategy(r: &mut Reader) -> Option<SequenceStrategy> {
    match r.text(&STRATEGY)?.as_str() {
        "channels" => Some(SequenceStrategy::Channels),
        "serialized" => Some(SequenceStrategy::Serialized),
        other => {
            let shown = show::public(other);
            let problem = format!("must be channels or serialized, not `{shown}`");
            r.fault(&STRATEGY, problem);
            None
        }
    }
}

/// How many accounts are derived: the one there is where all submissions share it, whatever the default says.
fn count(r: &mut Reader, strategy: Option<SequenceStrategy>) -> Option<u32> {
    let (set, count) = (r.is_set(&COUNT), r.number(&COUNT));
    if strategy != Some(SequenceStrategy::Serialized) {
        return count;
    }
    if set && count.is_some_and(|count| count != 1) {
        r.fault(&COUNT, ONE_ACCOUNT);
    }
    Some(1)
}

fn channels(r: &mut Reader, strategy: Option<SequenceStrategy>) -> Option<ChannelKeys> {
    let (seeded, listed) = (r.is_set(&SEED), r.is_set(&ACCOUNTS));
    let (seed, count, list) = (r.secret(&SEED), count(r, strategy), r.secret(&ACCOUNTS));
    match (seeded, listed) {
        (false, false) => {
            r.fault(
                &SEED,
                "is required by workers and not set, nor is STELLAR_CHANNEL_ACCOUNTS in its place",
            );
        }
        (true, true) => r.fault(
            &SEED,
            "contradicts STELLAR_CHANNEL_ACCOUNTS: set one of them",
        ),
        (false, true) if r.is_set(&COUNT) => {
            r.fault(
                &COUNT,
                "contradicts STELLAR_CHANNEL_ACCOUNTS, which says itself how many there are",
            );
        }
        (false, true) | (true, false) => {}
    }
    let seed = seed.and_then(|seed| {
        let parsed = ChannelSeed::parse(seed.expose_secret());
        parsed.map_err(|problem| r.fault(&SEED, problem)).ok()
    });
    let keys = list.map(|list| listed_keys(r, &list));
    if strategy == Some(SequenceStrategy::Serialized)
        && keys.as_ref().is_some_and(|keys| keys.len() > 1)
    {
        r.fault(&ACCOUNTS, ONE_ACCOUNT);
    }
    match (seed, keys) {
        (Some(seed), _) => Some(ChannelKeys::Seed {
            seed,
            count: count?,
        }),
        (None, Some(keys)) => Some(ChannelKeys::Listed(keys)),
        (None, None) => None,
    }
}

fn listed_keys(r: &mut Reader, list: &SecretString) -> Vec<SigningSecret> {
    let mut keys: Vec<SigningSecret> = Vec::new();
    for (at, part) in list.expose_secret().split(',').enumerate() {
        if at == MAX_CHANNELS {
            r.fault(&ACCOUNTS, format!("lists more than {MAX_CHANNELS} keys"));
            break;
        }
        match SigningSecret::parse(part.trim()) {
            Ok(key) if keys.contains(&key) => {
                r.fault(
                    &ACCOUNTS,
                    format!("entry {} repeats an earlier one", at + 1),
                );
            }
            Ok(key) => keys.push(key),
            Err(problem) => r.fault(&ACCOUNTS, format!("entry {} {problem}", at + 1)),
        }
    }
    keys
}
