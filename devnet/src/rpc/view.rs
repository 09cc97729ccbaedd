//! The network as one front end sees it: perhaps late, perhaps with a short memory, perhaps with an index behind.

use crate::faults::HashScope;
use crate::history::{AppliedTransaction, ClosedLedger};
use crate::network::Network;
use crate::past::MAX_LAG;
use stellar_xdr::{Hash, LedgerEntry, LedgerKey};

/// How a front end sees the network.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// How many ledgers late, at most [`MAX_LAG`].
    pub lag: u32,
    /// Ledgers of history, if fewer than the network keeps.
    pub history: Option<u32>,
    /// How far the index of transactions is behind.
    pub index: Option<IndexLag>,
}

/// An index that does not have the newest transactions yet.
#[derive(Clone, Debug)]
pub struct IndexLag {
    /// How many ledgers a transaction takes to get in.
    pub ledgers: u32,
    /// Which transactions.
    pub scope: Option<HashScope>,
}

/// A network seen so.
pub(super) struct View<'a> {
    network: &'a Network,
    sight: &'a Sight,
    oldest: u32,
    latest: u32,
}

impl<'a> View<'a> {
    pub fn new(network: &'a Network, sight: &'a Sight) -> Self {
        let first = network.ledgers().next().map_or(0, ClosedLedger::sequence);
        let head = network.latest_ledger();
        let latest = head.saturating_sub(sight.lag.min(MAX_LAG)).max(first);
        let oldest = match sight.history {
            Some(ledgers) => latest.saturating_sub(ledgers.max(1) - 1).max(first),
            None => first,
        };
        Self {
            network,
            sight,
            oldest,
            latest,
        }
    }

    /// The network itself, for what is the same however one looks.
    pub fn network(&self) -> &'a Network {
        self.network
    }

    pub fn latest_ledger(&self) -> u32 {
        self.latest
    }

    pub fn oldest_ledger(&self) -> u32 {
        self.oldest
    }

    /// The ledger of that sequence, if it is in sight.
    pub fn ledger(&self, sequence: u32) -> Option<&'a ClosedLedger> {
        (self.oldest..=self.latest)
            .contains(&sequence)
            .then(|| self.network.ledger(sequence))
            .flatten()
    }

    /// The ledgers in sight, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &'a ClosedLedger> {
        let (oldest, latest) = (self.oldest, self.latest);
        self.network
            .ledgers()
            .rev()
            .skip_while(move |ledger| ledger.sequence() > latest)
            .take_while(move |ledger| ledger.sequence() >= oldest)
    }

    /// The transaction of that hash, outer or inner, and its ledger, if it is in sight and in the index.
    pub fn find_transaction(
        &self,
        hash: &Hash,
    ) -> Option<(&'a ClosedLedger, &'a AppliedTransaction)> {
        let (sequence, index) = self.network.find_transaction(hash)?;
        let ledger = self.ledger(sequence)?;
        let tx = ledger.transactions.get(index)?;
        (!self.is_hidden(ledger, tx)).then_some((ledger, tx))
    }

    /// The last ledger up to which the index has everything.
    pub fn indexed(&self) -> u32 {
        let Some(index) = &self.sight.index else {
            return self.latest;
        };
        let from = self.latest.saturating_sub(index.ledgers).saturating_add(1);
        let hidden = (from.max(self.oldest)..=self.latest).find(|sequence| {
            self.ledger(*sequence).is_some_and(|ledger| {
                let mut txs = ledger.transactions.iter();
                txs.any(|tx| self.is_hidden(ledger, tx))
            })
        });
        hidden.map_or(self.latest, |first| first.saturating_sub(1))
    }

    fn is_hidden(&self, ledger: &ClosedLedger, tx: &AppliedTransaction) -> bool {
        self.sight.index.as_ref().is_some_and(|index| {
            self.latest < ledger.sequence().saturating_add(index.ledgers)
                && index.scope.as_ref().is_none_or(|scope| {
                    let mut hashes = std::iter::once(&tx.hash).chain(&tx.inner_hash);
                    hashes.any(|hash| scope.contains(hash))
                })
        })
    }

    /// The entry under a key after the latest ledger in sight.
    pub fn entry(&self, key: &LedgerKey) -> Option<LedgerEntry> {
        if self.latest == self.network.latest_ledger() {
            self.network.entry(key).cloned()
        } else {
            self.network.entry_as_of(key, self.latest)
        }
    }
}
