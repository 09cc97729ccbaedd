//! Lumens for new accounts.
//!
//! The friendbot is an account like any other: it creates accounts by real transactions, one at a time, each with as
//! many of the waiting addresses as fit.

use crate::config::NetworkConfig;
use crate::entries::{entry, new_account};
use crate::envelope::Submitted;
use crate::ledger::TOTAL_COINS;
use crate::network::{Network, SubmitStatus};
use crate::node::DevNode;
use crate::xdr::{account_id, account_key, list, sha256, to_bytes};
use ed25519_dalek::{Signer as _, SigningKey};
use std::collections::HashSet;
use std::time::Duration;
use stellar_xdr::{
    AccountId, CreateAccountOp, DecoratedSignature, Hash, LedgerEntry, LedgerEntryData, LedgerKey,
    Memo, MuxedAccount, Operation, OperationBody, Preconditions, SequenceNumber, Signature,
    SignatureHint, TimeBounds, TimePoint, Transaction, TransactionEnvelope, TransactionExt,
    TransactionV1Envelope, Uint256,
};
use tokio::sync::oneshot;

/// What a new account gets, in stroops: 10,000 XLM.
pub const STARTING_BALANCE: i64 = 100_000_000_000;

/// Longest time a request waits for its ledger.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// Most requests that wait at once.
const MAX_WAITING: usize = 1000;
/// Most accounts created by one transaction, which the protocol sets.
const MAX_OPERATIONS: usize = 100;
/// Transactions tried for one batch of addresses.
const MAX_ATTEMPTS: u32 = 5;
/// Times the minimum fee that is bid, so as not to starve in a full ledger.
const FEE_FACTOR: u32 = 100;
/// Seconds of the network's time after which a transaction is given up.
const LIFETIME_S: u64 = 60;

/// An account that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Funded {
    /// Hash of the transaction.
    pub hash: Hash,
    /// Sequence of its ledger.
    pub ledger: u32,
}

/// Why an account was not created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FriendbotError {
    /// Not the address of an account.
    #[error("the address is not a valid account address (G...)")]
    BadAddress,
    /// The account exists already.
    #[error("account already funded to starting balance")]
    AlreadyFunded,
    /// Too many requests wait.
    #[error("too many accounts are waiting for lumens, try again later")]
    Busy,
    /// The network did not take the transaction, or no ledger closed in time.
    #[error("the funding transaction did not get into a ledger in time")]
    NotIncluded,
    /// The network has no friendbot account, or it is out of lumens.
    #[error("this network has no friendbot account with enough lumens")]
    NoFunds,
    /// The node was shut down.
    #[error("the node is shutting down")]
    Stopped,
}

/// Requests that wait for a transaction.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    waiting: Vec<Waiting>,
    working: bool,
}

#[derive(Debug)]
struct Waiting {
    account: AccountId,
    answer: oneshot::Sender<Result<Funded, FriendbotError>>,
}

/// Ed25519 seed of the friendbot's account, from the passphrase; everybody can derive it.
fn key(network_id: &Hash) -> SigningKey {
    SigningKey::from_bytes(&sha256(&[&network_id.0, b"friendbot"]).0)
}

fn account(key: &SigningKey) -> AccountId {
    account_id(key.verifying_key().to_bytes())
}

/// The friendbot's account on a network.
#[must_use]
pub fn friendbot_account(config: &NetworkConfig) -> AccountId {
    account(&key(&config.network_id()))
}

/// A root and a friendbot account with half of all lumens each.
#[must_use]
pub fn initial_state(config: &NetworkConfig) -> Vec<(LedgerKey, LedgerEntry)> {
    let friendbot = new_account(
        friendbot_account(config),
        TOTAL_COINS / 2,
        config.start_ledger,
    );
    let mut root = new_account(config.root_account(), TOTAL_COINS / 2, config.start_ledger);
    root.seq_num = SequenceNumber(0);
    [root, friendbot]
        .map(|account| entry(LedgerEntryData::Account(account), config.start_ledger))
        .map(|entry| (entry.to_key(), entry))
        .into()
}

impl DevNode {
    /// Creates an account with [`STARTING_BALANCE`] and waits until it is in a ledger; for at most a minute.
    ///
    /// # Errors
    /// The address is bad, the account exists, or the network did not create it in time; in that case it may still do so.
    pub async fn fund(&self, address: &str) -> Result<Funded, FriendbotError> {
        let key = stellar_strkey::ed25519::PublicKey::from_string(address)
            .map_err(|_| FriendbotError::BadAddress)?;
        let account = account_id(key.0);
        let (answer, answered) = oneshot::channel();
        let start = {
            let mut desk = self.desk();
            if desk.waiting.len() >= MAX_WAITING {
                return Err(FriendbotError::Busy);
            }
            desk.waiting.push(Waiting { account, answer });
            !std::mem::replace(&mut desk.working, true)
        };
        if start {
            tokio::spawn(work(self.clone()));
        }
        tokio::select! {
            answer = tokio::time::timeout(LONGEST_WAIT, answered) => match answer {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(FriendbotError::Stopped),
                Err(_) => Err(FriendbotError::NotIncluded),
            },
            () = self.stopped() => Err(FriendbotError::Stopped),
        }
    }
}

/// Serves what waits, batch by batch, until nothing does.
async fn work(node: DevNode) {
    loop {
        let batch = {
            let mut desk = node.desk();
            let size = desk.waiting.len().min(MAX_OPERATIONS);
            if size == 0 {
                desk.working = false;
                return;
            }
            desk.waiting.drain(..size).collect()
        };
        tokio::select! {
            () = serve(&node, batch) => {}
            () = node.stopped() => {
                let mut desk = node.desk();
                desk.waiting.clear();
                desk.working = false;
                return;
            }
        }
    }
}

/// Creates the accounts of a batch by one transaction; by another if it does not get into a ledger or fails.
async fn serve(node: &DevNode, mut batch: Vec<Waiting>) {
    for _ in 0..MAX_ATTEMPTS {
        batch = node.inspect(|network| refuse_existing(network, batch));
        if batch.is_empty() {
            return;
        }
        let attempt = node.with_network(|network| submit(network, &batch));
        let mut latest = node.latest();
        match attempt {
            Attempt::NoFunds => return refuse(batch, &FriendbotError::NoFunds),
            Attempt::NotTaken => {
                if latest.changed().await.is_err() {
                    return;
                }
            }
            Attempt::Sent { hash, max_time } => match wait_for_end(node, &hash, max_time).await {
                End::Created(funded) => return confirm(batch, &funded),
                End::Failed | End::Expired => {}
            },
        }
    }
    refuse(batch, &FriendbotError::NotIncluded);
}

fn refuse_existing(network: &Network, batch: Vec<Waiting>) -> Vec<Waiting> {
    let (existing, batch) = batch
        .into_iter()
        .partition(|waiting| network.entry(&account_key(&waiting.account)).is_some());
    refuse(existing, &FriendbotError::AlreadyFunded);
    batch
}

fn refuse(batch: Vec<Waiting>, error: &FriendbotError) {
    for waiting in batch {
        // Whoever asked may have gone.
        let _ = waiting.answer.send(Err(error.clone()));
    }
}

/// Answers everybody; who asked for an address that somebody else asked for first gets what they would have got later.
fn confirm(batch: Vec<Waiting>, funded: &Funded) {
    let mut seen = HashSet::new();
    for waiting in batch {
        let answer = if seen.insert(waiting.account) {
            Ok(funded.clone())
        } else {
            Err(FriendbotError::AlreadyFunded)
        };
        // Whoever asked may have gone.
        let _ = waiting.answer.send(answer);
    }
}

enum Attempt {
    Sent { hash: Hash, max_time: u64 },
    NotTaken,
    NoFunds,
}

fn submit(network: &mut Network, batch: &[Waiting]) -> Attempt {
    let key = key(network.network_id());
    let sequence = match network.entry(&account_key(&account(&key))) {
        Some(LedgerEntry {
            data: LedgerEntryData::Account(account),
            ..
        }) => account.seq_num.0 + 1,
        Some(_) | None => return Attempt::NoFunds,
    };
    let max_time = network
        .latest_close_time()
        .saturating_add(2 * network.config().target_close_time_s)
        .saturating_add(LIFETIME_S);
    let envelope = envelope(network, &key, sequence, max_time, batch);
    let Ok(answer) = network.submit(&to_bytes(&envelope)) else {
        return Attempt::NotTaken;
    };
    match answer.status {
        SubmitStatus::Pending | SubmitStatus::Duplicate => Attempt::Sent {
            hash: answer.hash,
            max_time,
        },
        SubmitStatus::TryAgainLater | SubmitStatus::Filtered(_) => Attempt::NotTaken,
        SubmitStatus::Error(result) => {
            tracing::warn!(code = result.result.name(), "friendbot was refused");
            Attempt::NotTaken
        }
    }
}

fn envelope(
    network: &Network,
    key: &SigningKey,
    sequence: i64,
    max_time: u64,
    batch: &[Waiting],
) -> TransactionEnvelope {
    let mut seen = HashSet::new();
    let operations: Vec<Operation> = batch
        .iter()
        .filter(|waiting| seen.insert(&waiting.account))
        .map(|waiting| Operation {
            source_account: None,
            body: OperationBody::CreateAccount(CreateAccountOp {
                destination: waiting.account.clone(),
                starting_balance: STARTING_BALANCE,
            }),
        })
        .collect();
    let count = u32::try_from(operations.len()).unwrap_or(u32::MAX);
    let public = key.verifying_key().to_bytes();
    let tx = Transaction {
        source_account: MuxedAccount::Ed25519(Uint256(public)),
        fee: network
            .config()
            .base_fee
            .saturating_mul(FEE_FACTOR)
            .saturating_mul(count),
        seq_num: SequenceNumber(sequence),
        cond: Preconditions::Time(TimeBounds {
            min_time: TimePoint(0),
            max_time: TimePoint(max_time),
        }),
        memo: Memo::None,
        operations: list(operations),
        ext: TransactionExt::V0,
    };
    let unsigned = TransactionV1Envelope {
        tx,
        signatures: list(Vec::new()),
    };
    let hash = Submitted::new(
        TransactionEnvelope::Tx(unsigned.clone()),
        network.network_id(),
    )
    .hash;
    let hint = [public[28], public[29], public[30], public[31]];
    let signature = DecoratedSignature {
        hint: SignatureHint(hint),
        signature: Signature(bytes(key.sign(&hash.0).to_bytes().to_vec())),
    };
    TransactionEnvelope::Tx(TransactionV1Envelope {
        signatures: list(vec![signature]),
        ..unsigned
    })
}

#[expect(clippy::expect_used, reason = "an ed25519 signature has 64 bytes")]
fn bytes(signature: Vec<u8>) -> stellar_xdr::BytesM<64> {
    signature.try_into().expect("64 bytes are within the bound")
}

enum End {
    Created(Funded),
    Failed,
    Expired,
}

async fn wait_for_end(node: &DevNode, hash: &Hash, max_time: u64) -> End {
    let mut latest = node.latest();
    loop {
        let close_time = latest.borrow_and_update().close_time;
        let found = node.inspect(|network| {
            let (ledger, index) = network.find_transaction(hash)?;
            let tx = network.ledger(ledger)?.transactions.get(index)?;
            Some((ledger, tx.is_success()))
        });
        match found {
            Some((ledger, true)) => {
                let hash = hash.clone();
                return End::Created(Funded { hash, ledger });
            }
            Some((_, false)) => return End::Failed,
            None if close_time > max_time => return End::Expired,
            None => {}
        }
        if latest.changed().await.is_err() {
            return End::Expired;
        }
    }
}
