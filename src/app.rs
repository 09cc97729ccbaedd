//! Composition: builds the parts from the settings and hands them to the roles. No statics, no part builds another.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::config::{self, SequenceStrategy};
use crate::domain::ids::AccountId;
use crate::domain::sequence::DEPTH;
use crate::domain::submission::Budget;
use crate::flow::allocate::Allocator;
use crate::flow::backoff::full_jitter;
use crate::flow::chain::Chain;
use crate::flow::feed::FeedSettings;
use crate::flow::reconcile::ReconcileSettings;
use crate::flow::submit::SubmitSettings;
use crate::ledger::{Ledger, LedgerError, Rules};
use crate::metrics::MetricsError;
use crate::queue::{Queue, QueueError, RedisOptions};
use crate::stellar::channels;
use crate::stellar::keyring::{BadKeyRing, KeyRing};
use crate::stellar::network::NetworkId;
use crate::stellar::rpc::{BadNode, Rpc};
use crate::stellar::signer::{BadSecret, Signer};

/// How long a claim lasts. Between claiming and recording a worker signs, which takes milliseconds, and waits for nothing
/// but the ledger: whoever holds a claim this long is gone, or finds it ended and cannot record.
const CLAIM_TTL: Duration = Duration::from_secs(4);
/// How often the feed looks without being nudged.
const FEED_PERIOD: Duration = Duration::from_secs(1);
/// When a job that nobody took is pushed again.
const REDISPATCH_AFTER: Duration = Duration::from_secs(5);
/// Pause before the network is asked again for its name.
const NETWORK_RETRY: Duration = Duration::from_secs(1);

/// Why a role did not start, or did not go on.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The queue.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A key.
    #[error("a signing key cannot be used: {0}")]
    Secret(#[from] BadSecret),
    /// Keys that must not serve together.
    #[error(transparent)]
    KeyRing(#[from] BadKeyRing),
    /// A node's address.
    #[error(transparent)]
    Node(#[from] BadNode),
    /// A node belongs to another network: signatures would be made for the wrong one, and its ledgers believed.
    #[error("RPC node {node} serves the network `{actual}`, the settings name `{expected}`")]
    WrongNetwork {
        /// Which, in the order of the settings, counted from 1. Its address may hold a token.
        node: usize,
        /// Of the settings.
        expected: String,
        /// Of the node.
        actual: String,
    },
    /// Told to stop while waiting for something.
    #[error("stopped before it was ready")]
    Stopped,
    /// The registry of metrics.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A port or a file.
    #[error("{what}: {error}")]
    Io {
        /// Which.
        what: String,
        /// Why.
        error: std::io::Error,
    },
    /// A part of the process ended although nobody asked it to, or panicked.
    #[error("the part `{0}` of the process ended unasked")]
    Ended(&'static str),
}

impl StartError {
    /// A port or a file that cannot be used.
    #[must_use]
    pub fn io(what: impl Into<String>, error: std::io::Error) -> Self {
        Self::Io {
            what: what.into(),
            error,
        }
    }
}

/// The rules that the ledger applies to every transition.
#[must_use]
pub fn rules(submit: &config::Submit, close: Duration) -> Rules {
    Rules {
        budget: Budget {
            transient_failures: submit.max_transient_retries,
            claims: submit.max_claims,
        },
        backoff: full_jitter,
        backoff_base: submit.backoff_base,
        backoff_max: submit.backoff_max,
        claim_ttl: CLAIM_TTL,
        resend_after: close,
        max_in_flight: submit.max_in_flight.map(u64::from),
    }
}

/// The rules of a worker: of an account that submissions share few sequences are handed out, so few are under way.
#[must_use]
pub fn worker_rules(submit: &config::Submit, signers: &config::Signers, close: Duration) -> Rules {
    let rules = rules(submit, close);
    let most = match signers.strategy {
        SequenceStrategy::Channels => return rules,
        SequenceStrategy::Serialized => u64::from(DEPTH),
    };
    Rules {
        max_in_flight: Some(rules.max_in_flight.map_or(most, |cap| cap.min(most))),
        ..rules
    }
}

/// What hands out the sequences of the one account that submissions share, if that is the strategy.
#[must_use]
pub fn allocator(
    signers: &config::Signers,
    keys: &KeyRing,
    (ledger, queue): (&Ledger, &Queue),
    (rpc, chain): (&Rpc, &Arc<Chain>),
) -> Option<Allocator> {
    let account = match signers.strategy {
        SequenceStrategy::Channels => return None,
        SequenceStrategy::Serialized => keys.channels().first().copied()?,
    };
    Some(Allocator::new(
        ledger.clone(),
        queue.clone(),
        rpc.clone(),
        Arc::clone(chain),
        account,
    ))
}

/// For commands and roles that apply no transition by themselves but those of staff.
#[must_use]
pub fn staff_rules() -> Rules {
    Rules {
        budget: Budget {
            transient_failures: 0,
            claims: 0,
        },
        backoff: full_jitter,
        backoff_base: Duration::ZERO,
        backoff_max: Duration::ZERO,
        claim_ttl: CLAIM_TTL,
        resend_after: Duration::ZERO,
        max_in_flight: None,
    }
}

/// For a recovery: rows whose envelopes turn out to be dead start over, and none fails for that alone.
#[must_use]
pub fn recovery_rules() -> Rules {
    Rules {
        budget: Budget {
            transient_failures: u32::MAX,
            claims: u32::MAX,
        },
        ..staff_rules()
    }
}

/// Connects to the ledger, whatever its schema.
///
/// # Errors
/// It cannot be reached, or its settings could lose a commit.
pub async fn bare_ledger(database: &config::Database, rules: Rules) -> Result<Ledger, StartError> {
    use secrecy::ExposeSecret as _;
    Ok(Ledger::connect(
        database.url.expose_secret(),
        database.max_connections,
        rules,
    )
    .await?)
}

/// Connects to the ledger.
///
/// # Errors
/// As [`bare_ledger`]; also when its schema is not this version's.
pub async fn ledger(database: &config::Database, rules: Rules) -> Result<Ledger, StartError> {
    let ledger = bare_ledger(database, rules).await?;
    ledger.check_schema().await?;
    Ok(ledger)
}

/// The lanes on Redis. Does not wait for the server.
///
/// # Errors
/// The address is none.
pub async fn queue(redis: &config::Redis) -> Result<Queue, StartError> {
    Ok(Queue::redis(&redis.url, RedisOptions::default()).await?)
}

/// A client of the nodes. Nothing is asked yet.
///
/// # Errors
/// An address is none.
pub fn rpc(rpc: &config::Rpc, network: &NetworkId) -> Result<Rpc, StartError> {
    let urls: Vec<_> = rpc.urls.iter().map(|url| url.expose().to_owned()).collect();
    Ok(Rpc::new(
        network.clone(),
        &urls,
        rpc.send_timeout,
        rpc.read_timeout,
    )?)
}

/// Waits until a node answers, and refuses to go on with any of another network. A node that does not answer is asked
/// for its network before it is used.
///
/// # Errors
/// [`StartError::WrongNetwork`], or [`StartError::Stopped`] when none ever answered.
pub async fn confirm_network(
    rpc: &Rpc,
    network: &NetworkId,
    shutdown: &CancellationToken,
) -> Result<(), StartError> {
    loop {
        let asked = tokio::select! {
            () = shutdown.cancelled() => return Err(StartError::Stopped),
            asked = serves_network(rpc, network) => asked,
        };
        if asked? {
            return Ok(());
        }
        tokio::select! {
            () = shutdown.cancelled() => return Err(StartError::Stopped),
            () = tokio::time::sleep(NETWORK_RETRY) => {}
        }
    }
}

/// Asks every node for its network: whether any answered.
///
/// # Errors
/// [`StartError::WrongNetwork`].
pub async fn serves_network(rpc: &Rpc, network: &NetworkId) -> Result<bool, StartError> {
    let nodes = rpc.each_node();
    let answers = join_all(nodes.iter().map(Rpc::passphrase)).await;
    let mut confirmed = false;
    for (node, answer) in (1..).zip(answers) {
        match answer {
            Ok(actual) if actual == network.passphrase() => confirmed = true,
            Ok(actual) => {
                return Err(StartError::WrongNetwork {
                    node,
                    expected: network.passphrase().to_owned(),
                    actual,
                });
            }
            Err(fault) => {
                tracing::warn!(node, fault = %fault.code(), "an RPC node does not answer yet");
            }
        }
    }
    Ok(confirmed)
}

/// The signer of a secret from the settings.
///
/// # Errors
/// It is no secret key.
pub fn signer(secret: &config::SigningSecret) -> Result<Signer, StartError> {
    Ok(Signer::from_secret(&SecretString::from(
        secret.expose().to_owned(),
    ))?)
}

/// The account that pays, by name or by its key.
///
/// # Errors
/// The key is none.
pub fn treasury(treasury: &config::TreasuryName) -> Result<AccountId, StartError> {
    match treasury {
        config::TreasuryName::Account(account) => Ok(*account),
        config::TreasuryName::Secret(secret) => Ok(signer(secret)?.account()),
    }
}

/// Keys of the channel accounts.
///
/// # Errors
/// A key is none.
pub fn channel_signers(keys: &config::ChannelKeys) -> Result<Vec<Signer>, StartError> {
    match keys {
        config::ChannelKeys::Seed { seed, count } => {
            let seed = SecretString::from(hex::encode(seed.expose()));
            (0..*count)
                .map(|index| Ok(channels::derive(&seed, index)?))
                .collect()
        }
        config::ChannelKeys::Listed(keys) => keys.iter().map(signer).collect(),
    }
}

/// Every key a worker signs payments with.
///
/// # Errors
/// A key is none, or serves twice.
pub fn keyring(signers: &config::Signers) -> Result<KeyRing, StartError> {
    let fee_source = signer(&signers.fee_source)?.account();
    Ok(KeyRing::new(
        signer(&signers.treasury)?,
        fee_source,
        channel_signers(&signers.channels)?,
    )?)
}

/// Bounds of the feed.
#[must_use]
pub fn feed_settings(queue: &config::Queue) -> FeedSettings {
    FeedSettings {
        window: u64::from(queue.window),
        redispatch_after: REDISPATCH_AFTER,
        period: FEED_PERIOD,
    }
}

/// What envelopes offer and how long they live.
#[must_use]
pub fn submit_settings(submit: &config::Submit, fees: &config::Fees) -> SubmitSettings {
    SubmitSettings {
        base_fee: fees.default_base_fee,
        max_fee: fees.max_abs_fee,
        confirmation_timeout_s: submit.window.as_secs(),
    }
}

/// Bounds of the reconciler.
#[must_use]
pub fn reconcile_settings(
    submit: &config::Submit,
    fees: &config::Fees,
    close: Duration,
) -> ReconcileSettings {
    ReconcileSettings {
        interval: submit.reconcile_interval,
        close_time: close,
        max_fee: fees.max_abs_fee,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_a_dead_worker_end_within_five_seconds() {
        // As often as the reconciler looks by default.
        let look = Duration::from_secs(1);
        assert!(staff_rules().claim_ttl + look <= Duration::from_secs(5));
    }
}
