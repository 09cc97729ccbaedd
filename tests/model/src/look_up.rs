//! A pair is used: by which envelope, and with what effect? Nodes' indexes may lag, and their history may be short.

use tender::domain::plan::{Conclusion, Finding, conclude};
use tender::domain::submission::{Consumer, Event};

use crate::bugs::Bug;
use crate::chain::Use;
use crate::checker::Protocol;
use crate::ledger::Change;
use crate::worker::cause;
use crate::world::{Id, Key, Pair, Places, Plan, World};

/// What the nodes tell at the moment of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The last ledger in the index of hashes.
    pub indexed: u8,
    pub scan: Scan,
}

/// What reading ledgers for a consumer comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// It is seen if it is there.
    Tells,
    NotYet,
    /// No node's history reaches back to it.
    BeyondReach,
}

/// What the look-ups of all hashes of a pair say.
enum ByHash {
    Told(Event),
    NotTold,
    NotIndexed,
}

impl World {
    pub fn look(&mut self, protocol: &Protocol, row: (Key, u8), plan: Plan, look: Look) {
        match plan {
            Plan::LookUp {
                attempts,
                sequence,
                range,
                long_enough,
            } => {
                let event = match self.by_hash(protocol, row.0, attempts, look) {
                    ByHash::Told(event) => Some(event),
                    ByHash::NotTold => None,
                    ByHash::NotIndexed => self.by_consumer(protocol, row.0, range, look),
                };
                let event = event.or_else(|| long_enough.then_some(Event::ConsumerBeyondReach));
                self.settled(protocol, row, event, Some(sequence));
            }
            Plan::IdleConsumed { last, sequence } => {
                let event = self.by_idle_consumer(row, last, look);
                let ours = matches!(event, Some(Event::IdlePairConsumed(Consumer::Ours)));
                let pair = self.row(row.0).pair;
                let found = pair.and_then(|pair| self.consumer_of(row.0, pair));
                if self.settled(protocol, row, event, Some(sequence)) && ours {
                    self.row_mut(row.0).found = found;
                }
            }
            Plan::LookUpLate(attempts) => {
                if let ByHash::Told(event) = self.by_hash(protocol, row.0, attempts, look) {
                    self.settled(protocol, row, Some(event), None);
                }
            }
            Plan::EndClaim
            | Plan::Resend(_)
            | Plan::RaiseFee(_)
            | Plan::Bury { .. }
            | Plan::Landed(_) => {}
        }
    }

    fn settled(
        &mut self,
        protocol: &Protocol,
        (key, version): (Key, u8),
        event: Option<Event>,
        sequence: Option<u8>,
    ) -> bool {
        event.is_some_and(|event| {
            let change = Change {
                sequence,
                ..Change::new(key, version, event)
            };
            self.apply(protocol, &change)
        })
    }

    fn by_hash(&self, protocol: &Protocol, key: Key, attempts: Places, look: Look) -> ByHash {
        let row = self.row(key);
        let attempts = if protocol.bug == Some(Bug::OlderPairSettles) {
            Places::of(&row.envelopes, |one| one.recorded)
        } else {
            attempts
        };
        let recorded = attempts.iter().rev().map(|place| Id { key, place });
        let hashes: Vec<Id> = recorded.chain(row.found).collect();
        match conclude(&self.findings(&hashes, look)) {
            Conclusion::Decided(_, outcome) => ByHash::Told(outcome.into_event()),
            Conclusion::KeepLooking => ByHash::NotTold,
            Conclusion::Scan => ByHash::NotIndexed,
        }
    }

    fn findings(&self, hashes: &[Id], look: Look) -> Vec<Finding> {
        hashes
            .iter()
            .map(|id| self.finding(*id, look.indexed))
            .collect()
    }

    fn by_consumer(
        &self,
        protocol: &Protocol,
        key: Key,
        (from, to): (u8, u8),
        look: Look,
    ) -> Option<Event> {
        if protocol.bug == Some(Bug::NotFoundMeansFailed) {
            return Some(Event::LedgerFailed(cause(false)));
        }
        if protocol.bug == Some(Bug::NotFoundMeansForeign) {
            return Some(Event::ConsumedByForeign);
        }
        let pair = self.row(key).pair?;
        let seen = self
            .chain
            .consumer(pair)
            .filter(|one| (from..=to).contains(&one.ledger));
        match (look.scan, seen) {
            (Scan::NotYet, _) | (Scan::Tells, None) => None,
            (Scan::BeyondReach, _) => Some(Event::ConsumerBeyondReach),
            (Scan::Tells, Some(consumer)) => match ours(key, consumer) {
                // Its index entry may still be missing.
                Some(id) => match conclude(&self.findings(&[id], look)) {
                    Conclusion::Decided(_, outcome) => Some(outcome.into_event()),
                    Conclusion::KeepLooking | Conclusion::Scan => None,
                },
                None => Some(Event::ConsumedByForeign),
            },
        }
    }

    fn by_idle_consumer(&self, (key, version): (Key, u8), last: bool, look: Look) -> Option<Event> {
        let row = self.row(key);
        if row.version != version {
            return None;
        }
        let consumer = self.chain.consumer(row.pair?)?;
        let consumer = match (last, look.scan) {
            (false, _) | (true, Scan::BeyondReach) => Consumer::Unknown,
            (true, Scan::NotYet) => return None,
            (true, Scan::Tells) if ours(key, consumer).is_some() => Consumer::Ours,
            (true, Scan::Tells) => Consumer::Foreign,
        };
        Some(Event::IdlePairConsumed(consumer))
    }

    fn consumer_of(&self, key: Key, pair: Pair) -> Option<Id> {
        ours(key, self.chain.consumer(pair)?)
    }
}

/// Envelopes carry their key's tag, so that they are known even if their record is not.
fn ours(key: Key, consumer: Use) -> Option<Id> {
    consumer.by.map(|(id, _)| id).filter(|id| id.key == key)
}
