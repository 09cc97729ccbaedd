//! The network: ledgers that close, and the transactions that used an account's sequences.

use tender::domain::codes::{Failure, OpFailure, PaymentCode, TxCode};
use tender::domain::plan::{AccountState, Effect, Finding};

use crate::world::{Envelope, Id, Pair, World};

/// From one ledger to the next.
pub const CLOSE_S: u64 = 10;
/// `max_time` of an envelope, after the last close its builder saw: two ledgers may include it, and it may be sent again
/// in the first.
pub const WINDOW_S: u64 = 2 * CLOSE_S;
/// The network stands still for so long: everything expires, and whoever looks for an outcome has looked long enough.
const STALL_S: u64 = 1000;
/// Close time of the ledger in which all begins.
const EPOCH_S: u64 = 10_000;

/// Closed ledgers, as far as they matter here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    /// The last closed one.
    pub ledger: u8,
    /// The network stood still before this one closed.
    pub stalled_before: Option<u8>,
    /// By account, who used its sequences: the first entry used sequence 1.
    pub uses: Vec<Vec<Use>>,
}

/// A transaction in a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Use {
    pub ledger: u8,
    /// `None` for a transaction that is not ours.
    pub by: Option<(Id, Applied)>,
}

/// What became of an envelope in a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applied {
    Success,
    /// Another try can help.
    FailedTransient,
    FailedTerminal,
}

impl Applied {
    fn finding(self) -> Finding {
        match self {
            Self::Success => Finding::Success(Effect::Matched),
            Self::FailedTransient => Finding::Failed(Failure::Tx(TxCode::InsufficientBalance)),
            Self::FailedTerminal => {
                Finding::Failed(Failure::Op(OpFailure::Payment(PaymentCode::NoTrust)))
            }
        }
    }
}

impl Chain {
    pub fn new(accounts: usize) -> Self {
        Self {
            ledger: 0,
            stalled_before: None,
            uses: vec![Vec::new(); accounts],
        }
    }

    /// Close time of a ledger.
    pub fn closed_at(&self, ledger: u8) -> u64 {
        let stalled = self.stalled_before.is_some_and(|first| first <= ledger);
        EPOCH_S + u64::from(ledger) * CLOSE_S + u64::from(stalled) * STALL_S
    }

    /// Close time of the next ledger.
    pub fn next_close(&self, stall: bool) -> u64 {
        self.closed_at(self.ledger) + CLOSE_S + u64::from(stall) * STALL_S
    }

    /// The account as it was after that ledger.
    pub fn account(&self, account: u8, ledger: u8) -> AccountState {
        let uses = self.uses[usize::from(account)]
            .iter()
            .take_while(|one| one.ledger <= ledger);
        let (sequence, since) = uses.fold((0, None), |(count, _), one| (count + 1, Some(one)));
        AccountState::Present {
            sequence,
            since_ledger: since.map(|one| u32::from(one.ledger)),
        }
    }

    /// Sequence number of the account now.
    pub fn sequence(&self, account: u8) -> usize {
        self.uses[usize::from(account)].len()
    }

    pub fn unused(&self, pair: Pair) -> bool {
        self.sequence(pair.account) < usize::from(pair.sequence)
    }

    /// The transaction that used the pair.
    pub fn consumer(&self, pair: Pair) -> Option<Use> {
        let place = usize::from(pair.sequence).checked_sub(1)?;
        self.uses[usize::from(pair.account)].get(place).copied()
    }
}

impl World {
    /// Looks a hash up at a node whose index ends with that ledger. A fee-bump is found under its inner hash too.
    pub fn finding(&self, id: Id, indexed: u8) -> Finding {
        let hit = self
            .chain
            .consumer(self.envelope(id).pair)
            .filter(|one| one.ledger <= indexed);
        match hit.and_then(|one| one.by) {
            Some((by, applied)) if self.has_hash(by, id) => applied.finding(),
            Some(_) | None => Finding::NotFound,
        }
    }

    fn has_hash(&self, applied: Id, asked: Id) -> bool {
        applied == asked
            || applied.key == asked.key && self.envelope(applied).inner == Some(asked.place)
    }

    /// Envelopes of the account that the next ledger, closing at that time, may include.
    pub fn candidates(&self, account: u8, closes_at: u64) -> Vec<Id> {
        let next = self.chain.sequence(account) + 1;
        let fits = |one: &Envelope| {
            one.abroad
                && one.pair.account == account
                && usize::from(one.pair.sequence) == next
                && closes_at <= one.max_time
        };
        (0u8..)
            .zip(&self.rows)
            .flat_map(|(key, _)| self.ids(key))
            .filter(|id| fits(self.envelope(*id)))
            .collect()
    }

    /// How often the key took effect.
    pub fn effects(&self, key: u8) -> usize {
        let uses = self.chain.uses.iter().flatten();
        uses.filter(|one| matches!(one.by, Some((by, Applied::Success)) if by.key == key))
            .count()
    }
}
