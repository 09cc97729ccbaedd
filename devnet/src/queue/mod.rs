//! The node's transaction queue: one pending transaction per source account.

mod bans;
mod limits;

use crate::apply::unsupported;
use crate::entries::{available_balance, starting_sequence};
use crate::envelope::Submitted;
use crate::fees::replacement_shortfall;
use crate::network::SubmitStatus;
use crate::outcome::Outcome;
use crate::validate::Judge;
use bans::Bans;
use limits::{Limiter, NoRoom};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use stellar_xdr::{AccountId, OperationBody, TransactionResultCode as Code};

/// Ledgers a transaction waits before it is dropped.
const MAX_AGE: u32 = 4;

#[derive(Debug)]
struct Pending {
    tx: Arc<Submitted>,
    /// Ledgers closed without a transaction of this source; a replacement inherits it.
    age: u32,
}

/// Pending transactions, the bids they add up to, and the envelopes that are banned.
#[derive(Debug)]
pub struct Queue {
    pending: BTreeMap<AccountId, Pending>,
    /// Sum of the pending bids each fee source has made, in stroops.
    bids: HashMap<AccountId, i128>,
    bans: Bans,
    limiter: Limiter,
}

/// The status of an envelope refused with a code that says nothing of its operations.
pub fn refused(code: Code, fee_charged: i64) -> SubmitStatus {
    SubmitStatus::Error(Box::new(Outcome::refusal(code, fee_charged).into_result()))
}

fn is_soroban(tx: &Submitted) -> bool {
    tx.operations().first().is_some_and(|operation| {
        matches!(
            operation.body,
            OperationBody::InvokeHostFunction(_)
                | OperationBody::ExtendFootprintTtl(_)
                | OperationBody::RestoreFootprint(_)
        )
    })
}

/// Whether `new` is what is pending already: the same bytes, or the transaction inside a pending fee-bump.
fn is_duplicate(old: &Submitted, new: &Submitted) -> bool {
    match (&old.bump, &new.bump) {
        (Some(bump), None) => bump.inner_bytes_hash == new.bytes_hash,
        (None, Some(_)) => false,
        (None, None) | (Some(_), Some(_)) => old.bytes_hash == new.bytes_hash,
    }
}

impl Queue {
    /// An empty queue on a network whose ledgers take `max_tx_set_ops` operations.
    pub fn new(max_tx_set_ops: u32) -> Self {
        Self {
            pending: BTreeMap::new(),
            bids: HashMap::new(),
            bans: Bans::default(),
            limiter: Limiter::new(max_tx_set_ops),
        }
    }

    /// Transactions waiting.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Takes a transaction, or says why not.
    pub fn submit(&mut self, tx: Submitted, judge: &Judge<'_>) -> SubmitStatus {
        if is_soroban(&tx) != tx.has_soroban_data() || tx.bid() < 0 {
            return refused(Code::TxMalformed, 0);
        }
        if self.bans.contains(&tx.bytes_hash) {
            return SubmitStatus::TryAgainLater;
        }
        if let Some(kind) = unsupported(tx.operations()) {
            return SubmitStatus::Filtered(kind);
        }
        let old = self.pending.get(tx.source()).map(|p| p.tx.clone());
        if let Some(old) = &old
            && let Err(status) = may_follow(old, &tx)
        {
            return status;
        }
        let leaving = match self.limiter.make_room(&tx, old.as_deref()) {
            Ok(leaving) => leaving,
            Err(no_room) => {
                self.bans.add(&tx.bytes_hash);
                return match no_room {
                    NoRoom::Needs(fee) => refused(Code::TxInsufficientFee, fee),
                    NoRoom::Never => SubmitStatus::TryAgainLater,
                };
            }
        };
        let outcome = judge.check(&tx);
        if !outcome.is_success() {
            return SubmitStatus::Error(Box::new(outcome.into_result()));
        }
        if !self.can_pay(&tx, old.as_deref(), judge) {
            return refused(Code::TxInsufficientBalance, 0);
        }
        self.insert(tx, &leaving);
        SubmitStatus::Pending
    }

    /// Whether the fee source can pay this bid on top of all its pending ones; the bid it replaces is released.
    fn can_pay(&self, tx: &Submitted, old: Option<&Submitted>, judge: &Judge<'_>) -> bool {
        let payer = tx.fee_source();
        let available = judge.state.account(payer).map_or(0, |account| {
            i128::from(available_balance(account, judge.ledger.base_reserve))
        });
        let released = old
            .filter(|old| old.fee_source() == payer)
            .map_or(0, |old| i128::from(old.bid()));
        let pending = self.bids.get(payer).copied().unwrap_or(0);
        available - (i128::from(tx.bid()) - released) >= pending
    }

    fn insert(&mut self, tx: Submitted, leaving: &[AccountId]) {
        let tx = Arc::new(tx);
        let mut age = 0;
        if let Some(old) = self.pending.remove(tx.source()) {
            age = old.age;
            self.forget(&old.tx);
        }
        *self.bids.entry(tx.fee_source().clone()).or_default() += i128::from(tx.bid());
        for source in leaving {
            if let Some(evicted) = self.pending.remove(source) {
                self.limiter.raise_floor(&evicted.tx);
                self.bans.add(&evicted.tx.bytes_hash);
                self.forget(&evicted.tx);
            }
            if self.limiter.fits(tx.operation_count()) {
                break;
            }
        }
        self.limiter.add(&tx);
        self.pending
            .insert(tx.source().clone(), Pending { tx, age });
    }

    /// Releases what a transaction no longer pending took up.
    fn forget(&mut self, tx: &Submitted) {
        self.limiter.remove(tx);
        if let Some(sum) = self.bids.get_mut(tx.fee_source()) {
            *sum -= i128::from(tx.bid());
            if *sum <= 0 {
                self.bids.remove(tx.fee_source());
            }
        }
    }

    /// What may go into the ledger `next`.
    pub fn candidates(&self, next: u32) -> Vec<Arc<Submitted>> {
        let unusable = starting_sequence(next);
        self.pending
            .values()
            .filter(|pending| pending.tx.sequence() != unusable)
            .map(|pending| pending.tx.clone())
            .collect()
    }

    /// Drops and bans what is no longer valid; those that stay are returned.
    pub fn drop_invalid(&mut self, judge: &Judge<'_>, next: u32) -> Vec<Arc<Submitted>> {
        let (valid, invalid) = split_invalid(self.candidates(next), judge);
        for tx in invalid {
            self.bans.add(&tx.bytes_hash);
            if self.pending.remove(tx.source()).is_some() {
                self.forget(&tx);
            }
        }
        valid
    }

    /// Forgets and bans a transaction, as if it had waited too long; what was forgotten.
    pub fn drop_banned(&mut self, source: &AccountId) -> Option<Arc<Submitted>> {
        let dropped = self.pending.remove(source)?.tx;
        self.forget(&dropped);
        self.bans.add(&dropped.bytes_hash);
        Some(dropped)
    }

    /// The transaction of a source that waits.
    pub fn of(&self, source: &AccountId) -> Option<&Arc<Submitted>> {
        self.pending.get(source).map(|pending| &pending.tx)
    }

    /// Until the next close newcomers must bid at least that many stroops per operation, as in a full queue.
    pub fn set_floor(&mut self, min_bid: u32) {
        self.limiter.set_floor(min_bid);
    }

    /// A ledger has closed with these transactions: they are banned, whatever they made invalid is dropped, the rest
    /// grows older.
    pub fn close(&mut self, applied: &[Arc<Submitted>]) {
        for tx in applied {
            let overtaken = self
                .pending
                .get(tx.source())
                .is_some_and(|pending| pending.tx.sequence() <= tx.sequence());
            if overtaken && let Some(old) = self.pending.remove(tx.source()) {
                self.forget(&old.tx);
            }
            // Before the bans grow older, so these last one ledger less than the others.
            self.bans.add(&tx.bytes_hash);
        }
        self.bans.shift();
        for pending in self.pending.values_mut() {
            pending.age += 1;
        }
        let expired: Vec<Arc<Submitted>> = self
            .pending
            .values()
            .filter(|pending| pending.age >= MAX_AGE)
            .map(|pending| pending.tx.clone())
            .collect();
        for tx in expired {
            self.pending.remove(tx.source());
            self.forget(&tx);
            self.bans.add(&tx.bytes_hash);
        }
        self.limiter.reset_floor();
    }
}

/// Whether `new` may replace the pending `old` of the same source.
fn may_follow(old: &Submitted, new: &Submitted) -> Result<(), SubmitStatus> {
    if is_duplicate(old, new) {
        return Err(SubmitStatus::Duplicate);
    }
    if new.sequence() < old.sequence() {
        return Err(refused(Code::TxBadSeq, 0));
    }
    if new.bump.is_none() || new.sequence() != old.sequence() {
        return Err(SubmitStatus::TryAgainLater);
    }
    match replacement_shortfall(new, old) {
        None => Ok(()),
        Some(needed) => Err(refused(Code::TxInsufficientFee, needed)),
    }
}

/// Valid and invalid transactions.
pub type Split = (Vec<Arc<Submitted>>, Vec<Arc<Submitted>>);

/// Parts transactions into valid and invalid ones; a fee source that cannot pay all its valid bids together makes
/// all of them invalid.
pub fn split_invalid(candidates: Vec<Arc<Submitted>>, judge: &Judge<'_>) -> Split {
    let (valid, mut invalid): Split = candidates
        .into_iter()
        .partition(|tx| judge.check(tx).is_success());
    let mut bids: HashMap<AccountId, i128> = HashMap::new();
    for tx in &valid {
        *bids.entry(tx.fee_source().clone()).or_default() += i128::from(tx.bid());
    }
    let (valid, unpaid): Split = valid.into_iter().partition(|tx| {
        let payer = tx.fee_source();
        judge.state.account(payer).is_some_and(|account| {
            let available = available_balance(account, judge.ledger.base_reserve);
            i128::from(available) >= bids.get(payer).copied().unwrap_or(0)
        })
    });
    invalid.extend(unpaid);
    (valid, invalid)
}
