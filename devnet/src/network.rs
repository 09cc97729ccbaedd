//! One node and its chain, driven by hand: submit, close, look up.

use crate::config::NetworkConfig;
use crate::entries::{LedgerParams, entry, new_account};
use crate::envelope::Submitted;
use crate::fees::{fee_at, select};
use crate::history::{AppliedTransaction, ClosedLedger};
use crate::ledger::{self, TOTAL_COINS};
use crate::queue::Queue;
use crate::signatures::SignatureCache;
use crate::state::LedgerState;
use crate::transact::Ledger;
use crate::validate::Judge;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use stellar_xdr::{
    Hash, LedgerEntry, LedgerEntryData, LedgerKey, OperationType, SequenceNumber, TransactionResult,
};

/// Target close times an envelope must stay valid for to be taken.
const CLOSE_TIMES_AHEAD: u64 = 2;

/// What the node says to a submitted envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmitStatus {
    /// In this node's queue.
    Pending,
    /// Already in this node's queue.
    Duplicate,
    /// Refused without a reason.
    TryAgainLater,
    /// Refused, with the result it would have.
    Error(Box<TransactionResult>),
    /// Left out because this node does not take operations of that type; the real RPC answers this status with the
    /// JSON-RPC error -32603 "invalid status from stellar-core".
    Filtered(OperationType),
}

/// Status and identity of a submitted envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitAnswer {
    /// Hash of the envelope that was sent; of the outer one for a fee-bump.
    pub hash: Hash,
    /// What the node says.
    pub status: SubmitStatus,
}

/// A simulated network of one node.
#[derive(Debug)]
pub struct Network {
    config: NetworkConfig,
    id: Hash,
    state: LedgerState,
    queue: Queue,
    cache: SignatureCache,
    /// Closed ledgers in the history window, oldest first; never empty.
    history: VecDeque<ClosedLedger>,
    /// Where transactions of those ledgers are, by outer and by inner hash.
    positions: HashMap<Hash, (u32, usize)>,
    /// Seconds since the last close.
    drift: u64,
}

impl Network {
    /// A network at its start ledger, with an empty queue.
    #[must_use]
    pub fn new(mut config: NetworkConfig) -> Self {
        let mut initial = std::mem::take(&mut config.initial_state);
        if initial.is_empty() {
            initial.push(genesis(&config));
        }
        let state = LedgerState::new(initial, config.start_ledger);
        let held = state.iter().map(lumens).fold(0, i64::saturating_add);
        let first = ledger::first(&config, TOTAL_COINS.saturating_sub(held).max(0));
        Self {
            id: config.network_id(),
            queue: Queue::new(config.max_tx_set_ops),
            state,
            cache: SignatureCache::default(),
            history: VecDeque::from([first]),
            positions: HashMap::new(),
            drift: 0,
            config,
        }
    }

    /// The network's parameters; its initial state is not kept.
    #[must_use]
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// SHA-256 of the passphrase.
    #[must_use]
    pub fn network_id(&self) -> &Hash {
        &self.id
    }

    /// Submits the binary XDR of a `TransactionEnvelope`.
    ///
    /// # Errors
    /// The bytes are not an envelope; nothing changed.
    pub fn submit(&mut self, envelope_xdr: &[u8]) -> Result<SubmitAnswer, stellar_xdr::Error> {
        let tx = Submitted::decode(envelope_xdr, &self.id)?;
        let hash = tx.hash.clone();
        let judge = Judge {
            state: &self.state,
            ledger: self.next_params(),
            lower_offset: 0,
            upper_offset: self.upper_offset(),
            cache: &self.cache,
        };
        let status = self.queue.submit(tx, &judge);
        Ok(SubmitAnswer { hash, status })
    }

    /// Transactions waiting in the queue.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// Lets the node's clock go on without closing a ledger: `drift` is in seconds since the last close.
    pub fn set_drift(&mut self, drift: u64) {
        self.drift = drift;
    }

    /// Closes the next ledger at `close_time` (unix seconds; at least one second after the last one's).
    pub fn close(&mut self, close_time: u64) -> &ClosedLedger {
        self.close_in_order(close_time, &[])
    }

    /// Closes the next ledger, applying the transactions of these hashes first and in this order.
    ///
    /// On the real network the order follows hashes nobody chooses; this is for checking recorded ledgers and for
    /// tests that need a certain order.
    pub fn close_in_order(&mut self, close_time: u64, order: &[Hash]) -> &ClosedLedger {
        let close_time = close_time.max(self.latest_close_time().saturating_add(1));
        let next = self.latest_ledger() + 1;
        let ahead = close_time - self.latest_close_time();
        let judge = Judge {
            state: &self.state,
            ledger: self.next_params(),
            lower_offset: ahead,
            upper_offset: ahead,
            cache: &self.cache,
        };
        let waiting = self.queue.drop_invalid(&judge, next);
        let selection = select(waiting, self.config.max_tx_set_ops, self.config.base_fee);
        let mut included = selection.included;
        self.put_in_order(&mut included, order);
        let transactions = self.apply(&included, close_time, selection.base_fee);
        self.record(close_time, transactions, selection.base_fee);
        self.drift = 0;
        self.queue.close(&included);
        let judge = Judge {
            state: &self.state,
            ledger: self.next_params(),
            lower_offset: 0,
            upper_offset: self.upper_offset(),
            cache: &self.cache,
        };
        self.queue.drop_invalid(&judge, next + 1);
        self.last()
    }

    fn put_in_order(&self, included: &mut [Arc<Submitted>], order: &[Hash]) {
        let wanted: HashMap<&Hash, usize> = order.iter().zip(0..).collect();
        let salt = self.last().hash.0;
        included.sort_by_cached_key(|tx| {
            let mixed: Vec<u8> = tx
                .bytes_hash
                .0
                .iter()
                .zip(salt)
                .map(|(a, b)| a ^ b)
                .collect();
            (wanted.get(&tx.hash).copied().unwrap_or(usize::MAX), mixed)
        });
    }

    /// Charges all fees, then applies all transactions.
    fn apply(
        &mut self,
        included: &[Arc<Submitted>],
        close_time: u64,
        base_fee: i64,
    ) -> Vec<AppliedTransaction> {
        let params = LedgerParams {
            close_time,
            ..self.next_params()
        };
        self.state.set_ledger(params.ledger_seq);
        let max_sequences: BTreeMap<_, _> = included
            .iter()
            .map(|tx| (tx.source().clone(), tx.sequence()))
            .collect();
        let mut ledger = Ledger {
            state: &mut self.state,
            params,
            network_id: &self.id,
            cache: &self.cache,
            max_sequences,
        };
        let fees: Vec<_> = included
            .iter()
            .map(|tx| ledger.charge(tx, fee_at(tx, base_fee)))
            .collect();
        included
            .iter()
            .zip(fees)
            .zip(1..)
            .map(|((tx, (fee, fee_changes)), application_order)| {
                let (result, meta) = ledger.apply(tx, fee);
                AppliedTransaction {
                    hash: tx.hash.clone(),
                    inner_hash: tx.bump.as_ref().map(|bump| bump.inner_hash.clone()),
                    envelope: tx.envelope.clone(),
                    result,
                    meta,
                    fee_changes,
                    application_order,
                }
            })
            .collect()
    }

    fn record(&mut self, close_time: u64, transactions: Vec<AppliedTransaction>, base_fee: i64) {
        let closed = ledger::next(self.last(), close_time, transactions, base_fee);
        let sequence = closed.header.ledger_seq;
        for (index, tx) in closed.transactions.iter().enumerate() {
            for hash in std::iter::once(&tx.hash).chain(&tx.inner_hash) {
                self.positions.insert(hash.clone(), (sequence, index));
            }
        }
        self.history.push_back(closed);
        while self.history.len() > self.config.history_window.max(1) as usize {
            let Some(forgotten) = self.history.pop_front() else {
                break;
            };
            let sequence = forgotten.header.ledger_seq;
            for tx in &forgotten.transactions {
                for hash in std::iter::once(&tx.hash).chain(&tx.inner_hash) {
                    if self.positions.get(hash).is_some_and(|at| at.0 == sequence) {
                        self.positions.remove(hash);
                    }
                }
            }
        }
    }

    /// The entry under `key` after the last closed ledger.
    #[must_use]
    pub fn entry(&self, key: &LedgerKey) -> Option<&LedgerEntry> {
        self.state.get(key)
    }

    /// All entries after the last closed ledger, in no order.
    pub fn entries(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.state.iter()
    }

    /// Closed ledgers still in the history window, oldest first; the start ledger is the first, without transactions.
    pub fn ledgers(&self) -> impl DoubleEndedIterator<Item = &ClosedLedger> {
        self.history.iter()
    }

    /// The ledger of that sequence, if the history window still has it.
    #[must_use]
    pub fn ledger(&self, sequence: u32) -> Option<&ClosedLedger> {
        let oldest = self.history.front()?.header.ledger_seq;
        let index = sequence.checked_sub(oldest)?;
        self.history.get(index as usize)
    }

    /// Where the transaction of that hash (outer or inner) stands: ledger sequence and index into its transactions.
    #[must_use]
    pub fn find_transaction(&self, hash: &Hash) -> Option<(u32, usize)> {
        self.positions.get(hash).copied()
    }

    /// Sequence of the last closed ledger.
    #[must_use]
    pub fn latest_ledger(&self) -> u32 {
        self.last().header.ledger_seq
    }

    /// Close time of the last closed ledger, in unix seconds.
    #[must_use]
    pub fn latest_close_time(&self) -> u64 {
        self.last().header.scp_value.close_time.0
    }

    #[expect(
        clippy::expect_used,
        reason = "the history starts with one ledger and keeps at least the newest"
    )]
    fn last(&self) -> &ClosedLedger {
        self.history.back().expect("the history is never empty")
    }

    /// What an envelope is judged by before the next ledger: its sequence, but the last close time.
    fn next_params(&self) -> LedgerParams {
        LedgerParams {
            ledger_seq: self.latest_ledger() + 1,
            close_time: self.latest_close_time(),
            base_fee: self.config.base_fee,
            base_reserve: self.config.base_reserve,
        }
    }

    /// How long an envelope must stay valid beyond the last close, in seconds.
    fn upper_offset(&self) -> u64 {
        CLOSE_TIMES_AHEAD
            .saturating_mul(self.config.target_close_time_s)
            .saturating_add(self.drift)
    }
}

fn lumens(entry: &LedgerEntry) -> i64 {
    match &entry.data {
        LedgerEntryData::Account(account) => account.balance,
        _ => 0,
    }
}

/// The root account with all lumens, as a new network has it.
fn genesis(config: &NetworkConfig) -> (LedgerKey, LedgerEntry) {
    let mut root = new_account(config.root_account(), TOTAL_COINS, config.start_ledger);
    root.seq_num = SequenceNumber(0);
    let entry = entry(LedgerEntryData::Account(root), config.start_ledger);
    (entry.to_key(), entry)
}
