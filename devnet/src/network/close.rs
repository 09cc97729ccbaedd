//! Closing ledgers: what gets in, in which order, and what is kept of it.

use super::Network;
use crate::config::NetworkConfig;
use crate::entries::LedgerParams;
use crate::envelope::Submitted;
use crate::fees::{Selection, fee_at, offers_at_least, select};
use crate::history::{AppliedTransaction, ClosedLedger};
use crate::ledger;
use crate::transact::Ledger;
use crate::validate::Judge;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use stellar_xdr::{Hash, TransactionEnvelope};

/// What a ledger closes under.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CloseConditions {
    /// No transaction gets in.
    pub empty: bool,
    /// The least bid per operation that gets in and that everybody pays, in stroops, where others bid so much.
    pub min_bid: Option<u32>,
}

impl CloseConditions {
    /// What gets in of what waits, and what it pays.
    fn select(
        self,
        mut waiting: Vec<Arc<Submitted>>,
        config: &NetworkConfig,
    ) -> Selection<Arc<Submitted>> {
        if self.empty {
            waiting.clear();
        }
        if let Some(min_bid) = self.min_bid {
            waiting.retain(|tx| offers_at_least(tx, min_bid));
        }
        let mut selection = select(waiting, config.max_tx_set_ops, config.base_fee);
        let least = i64::from(self.min_bid.unwrap_or(0));
        selection.base_fee = selection.base_fee.max(least);
        selection
    }
}

impl Network {
    /// Closes the next ledger at `close_time` (unix seconds; at least one second after the last one's).
    pub fn close(&mut self, close_time: u64) -> &ClosedLedger {
        self.close_in_order(close_time, &[])
    }

    /// Closes the next ledger, applying the transactions of these hashes first and in this order.
    ///
    /// On the real network the order follows hashes nobody chooses; this is for checking recorded ledgers and for
    /// tests that need a certain order.
    pub fn close_in_order(&mut self, close_time: u64, order: &[Hash]) -> &ClosedLedger {
        self.close_under(close_time, order, CloseConditions::default())
    }

    /// Closes the next ledger under these conditions.
    pub(crate) fn close_under(
        &mut self,
        close_time: u64,
        order: &[Hash],
        conditions: CloseConditions,
    ) -> &ClosedLedger {
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
        let waiting = self.elsewhere.join(waiting, &judge, close_time);
        let selection = conditions.select(waiting, &self.config);
        let mut included = selection.included;
        self.put_in_order(&mut included, order);
        let transactions = self.apply(&included, close_time, selection.base_fee);
        self.record(close_time, transactions, selection.base_fee);
        self.drift = 0;
        self.queue.close(&included);
        self.elsewhere.forget_dead(&self.state, next, close_time);
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

    /// Closes a ledger again that this network closed before it was restarted, with these transactions in this order.
    pub(crate) fn close_again(
        &mut self,
        close_time: u64,
        envelopes: Vec<TransactionEnvelope>,
        base_fee: i64,
    ) -> &ClosedLedger {
        let included: Vec<_> = envelopes
            .into_iter()
            .map(|envelope| Arc::new(Submitted::new(envelope, &self.id)))
            .collect();
        let transactions = self.apply(&included, close_time, base_fee);
        self.record(close_time, transactions, base_fee);
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
}
