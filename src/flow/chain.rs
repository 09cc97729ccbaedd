//! Chain time: the highest ledger any answer has shown, which never goes back.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::stellar::rpc::Seen;

/// The highest ledger seen by this process. Expiry and `max_time` follow its close time and never the local clock.
#[derive(Debug)]
pub struct Chain {
    latest: watch::Sender<Option<Sighting>>,
}

/// A ledger, and when this process first saw it.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// The ledger.
    pub seen: Seen,
    /// When, by the monotonic clock: only to tell whether to ask again, never to judge expiry.
    pub at: Instant,
}

/// How an answer's ledger compares with the highest seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Higher than all before.
    New,
    /// The highest seen.
    Current,
    /// From the past: what it says about the state of the chain is ignored.
    Behind,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            latest: watch::Sender::new(None),
        }
    }
}

impl Chain {
    /// Takes note of an answer's ledger.
    pub fn observe(&self, seen: Seen) -> Freshness {
        let mut freshness = Freshness::New;
        self.latest.send_if_modified(|latest| {
            freshness = match latest {
                Some(known) if seen.ledger < known.seen.ledger => Freshness::Behind,
                Some(known) if seen.ledger == known.seen.ledger => Freshness::Current,
                Some(_) | None => Freshness::New,
            };
            if freshness == Freshness::New {
                *latest = Some(Sighting {
                    seen,
                    at: Instant::now(),
                });
            }
            freshness == Freshness::New
        });
        freshness
    }

    /// The highest ledger seen.
    #[must_use]
    pub fn latest(&self) -> Option<Seen> {
        self.latest.borrow().map(|sighting| sighting.seen)
    }

    /// The highest ledger seen, if it was first seen at most `age` ago.
    #[must_use]
    pub fn recent(&self, age: Duration) -> Option<Seen> {
        self.latest
            .borrow()
            .filter(|sighting| sighting.at.elapsed() <= age)
            .map(|sighting| sighting.seen)
    }

    /// Wakes up when a higher ledger is seen.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Option<Sighting>> {
        self.latest.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_time_never_goes_back() {
        let chain = Chain::default();
        let seen = |ledger| Seen {
            ledger,
            close_time: u64::from(ledger) * 5,
        };
        assert_eq!(chain.observe(seen(10)), Freshness::New);
        assert_eq!(chain.observe(seen(10)), Freshness::Current);
        assert_eq!(chain.observe(seen(9)), Freshness::Behind);
        assert_eq!(chain.latest().map(|seen| seen.ledger), Some(10));
        assert_eq!(chain.observe(seen(12)), Freshness::New);
        assert_eq!(chain.latest().map(|seen| seen.close_time), Some(60));
    }
}
