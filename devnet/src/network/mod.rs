//! One node and its chain, driven by hand: submit, close, look up.

mod close;
mod elsewhere;

pub(crate) use close::CloseConditions;

use crate::config::NetworkConfig;
use crate::entries::{LedgerParams, entry, extension_v3, new_account};
use crate::envelope::Submitted;
use crate::faults::Release;
use crate::history::ClosedLedger;
use crate::ledger::{self, TOTAL_COINS};
use crate::past::{Past, Was};
use crate::queue::Queue;
use crate::signatures::SignatureCache;
use crate::state::LedgerState;
use crate::validate::Judge;
use crate::xdr::account_key;
use elsewhere::Elsewhere;
use std::collections::{HashMap, VecDeque};
use stellar_xdr::{
    AccountId, Hash, LedgerEntry, LedgerEntryData, LedgerKey, OperationType, SequenceNumber,
    TransactionResult,
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
    /// Envelopes that another node will get into a ledger.
    elsewhere: Elsewhere,
    /// Entries as they were some ledgers ago.
    past: Past,
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
            elsewhere: Elsewhere::default(),
            past: Past::default(),
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
        let status = self.take(tx);
        Ok(SubmitAnswer { hash, status })
    }

    /// Submits an envelope that only another node will propose, and not before `until`; this node drops and bans it at
    /// once if it is `dropped`.
    pub(crate) fn submit_held(
        &mut self,
        envelope_xdr: &[u8],
        until: Release,
        dropped: bool,
    ) -> Result<SubmitAnswer, stellar_xdr::Error> {
        let tx = Submitted::decode(envelope_xdr, &self.id)?;
        let (hash, source) = (tx.hash.clone(), tx.source().clone());
        let status = self.take(tx);
        if status == SubmitStatus::Pending
            && let Some(taken) = self.queue.of(&source).cloned()
            && self.elsewhere.hold(taken, until, self.latest_ledger())
            && dropped
        {
            self.queue.drop_banned(&source);
        }
        Ok(SubmitAnswer { hash, status })
    }

    /// Submits an envelope to a node that is at an older ledger: it judges by what was true then. What it takes floods to
    /// the others, whose answers nobody sees.
    pub(crate) fn submit_as_of(
        &mut self,
        envelope_xdr: &[u8],
        ledger: u32,
    ) -> Result<SubmitAnswer, stellar_xdr::Error> {
        let tx = Submitted::decode(envelope_xdr, &self.id)?;
        let hash = tx.hash.clone();
        let state = self.accounts_as_of(&tx, ledger);
        let close_time = self
            .ledger(ledger)
            .map_or(self.latest_close_time(), ClosedLedger::close_time);
        let judge = Judge {
            state: &state,
            ledger: LedgerParams {
                ledger_seq: ledger + 1,
                close_time,
                ..self.next_params()
            },
            lower_offset: 0,
            upper_offset: self.upper_offset(),
            cache: &self.cache,
        };
        let outcome = judge.check(&tx);
        if !outcome.is_success() {
            let status = SubmitStatus::Error(Box::new(outcome.into_result()));
            return Ok(SubmitAnswer { hash, status });
        }
        let status = match self.take(tx) {
            SubmitStatus::Duplicate => SubmitStatus::Duplicate,
            SubmitStatus::Filtered(kind) => SubmitStatus::Filtered(kind),
            SubmitStatus::Pending | SubmitStatus::TryAgainLater | SubmitStatus::Error(_) => {
                SubmitStatus::Pending
            }
        };
        Ok(SubmitAnswer { hash, status })
    }

    /// The accounts a transaction is judged by, as they were after an older ledger.
    fn accounts_as_of(&self, tx: &Submitted, ledger: u32) -> LedgerState {
        let mut ids: Vec<AccountId> = tx
            .operations()
            .iter()
            .map(|operation| tx.operation_source(operation))
            .collect();
        ids.extend([tx.source().clone(), tx.fee_source().clone()]);
        let accounts = ids.iter().filter_map(|id| {
            let key = account_key(id);
            let entry = self.entry_as_of(&key, ledger)?;
            Some((key, entry))
        });
        LedgerState::new(accounts.collect(), ledger)
    }

    /// Whether the last transaction of an envelope's source got into a ledger less than `ledgers` ago and the envelope has
    /// its sequence number or the one after it.
    pub(crate) fn follows_within(&self, tx: &Submitted, ledgers: u32) -> bool {
        self.state.account(tx.source()).is_some_and(|account| {
            let used_in = extension_v3(account).map_or(0, |v3| v3.seq_ledger);
            let ahead = tx.sequence().checked_sub(account.seq_num.0);
            matches!(ahead, Some(0 | 1))
                && used_in > 0
                && self.latest_ledger() < used_in.saturating_add(ledgers)
        })
    }

    /// Until the next close the queue asks for that many stroops per operation, as when it is full.
    pub(crate) fn set_floor(&mut self, min_bid: u32) {
        self.queue.set_floor(min_bid);
    }

    fn take(&mut self, tx: Submitted) -> SubmitStatus {
        let judge = Judge {
            state: &self.state,
            ledger: self.next_params(),
            lower_offset: 0,
            upper_offset: self.upper_offset(),
            cache: &self.cache,
        };
        self.queue.submit(tx, &judge)
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

    /// The entry under `key` after the last closed ledger.
    #[must_use]
    pub fn entry(&self, key: &LedgerKey) -> Option<&LedgerEntry> {
        self.state.get(key)
    }

    /// The entry under `key` as it was after an older ledger, at most [`MAX_LAG`](crate::past::MAX_LAG) ledgers ago and
    /// still in the history window.
    #[must_use]
    pub fn entry_as_of(&self, key: &LedgerKey, ledger: u32) -> Option<LedgerEntry> {
        let later = ledger.saturating_add(1)..=self.latest_ledger();
        match self
            .past
            .first_before(key, later, |sequence| self.ledger(sequence))
        {
            Some(Was::Present(entry)) => Some(*entry),
            Some(Was::Absent) => None,
            None => self.entry(key).cloned(),
        }
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
