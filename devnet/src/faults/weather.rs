//! Faults of ledgers that last for several of them.

use super::fault::CloseFault;
use crate::network::CloseConditions;

/// What is going on around the ledgers right now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    empty_left: u32,
    surge: Option<Surge>,
    skew: Option<Skew>,
    /// Seconds the last close time was shifted by.
    shifted: i64,
    stalled: u32,
}

#[derive(Clone, Copy, Debug)]
struct Surge {
    min_bid: u32,
    left: u32,
    queue_full: bool,
}

#[derive(Clone, Copy, Debug)]
struct Skew {
    seconds: i64,
    left: u32,
}

impl Weather {
    /// A new fault begins; one of the same kind that was going on ends.
    pub fn add(&mut self, fault: CloseFault) {
        match fault {
            CloseFault::Empty { ledgers } => self.empty_left = ledgers,
            CloseFault::FeeSurge {
                min_bid,
                ledgers,
                queue_full,
            } => {
                self.surge = Some(Surge {
                    min_bid,
                    left: ledgers,
                    queue_full,
                });
            }
            CloseFault::Skew { seconds, ledgers } => {
                self.skew = Some(Skew {
                    seconds: seconds.into(),
                    left: ledgers,
                });
            }
            CloseFault::Stall { intervals } => self.stalled = intervals,
        }
    }

    /// Whether no ledger closes now; asking lets one interval pass.
    pub fn stalls(&mut self) -> bool {
        let stalled = self.stalled > 0;
        self.stalled = self.stalled.saturating_sub(1);
        stalled
    }

    /// Whether a stall is going on.
    pub fn is_stalled(&self) -> bool {
        self.stalled > 0
    }

    /// Seconds the network's clock is ahead of the real one; negative when it is behind.
    pub fn skew(&self) -> i64 {
        self.skew.map_or(0, |skew| skew.seconds)
    }

    /// How much farther than at the last close the network's clock is ahead, for close times that only count on.
    pub fn skew_step(&self) -> i64 {
        self.skew() - self.shifted
    }

    /// What the next ledger closes under.
    pub fn conditions(&self) -> CloseConditions {
        CloseConditions {
            empty: self.empty_left > 0,
            min_bid: self.surge.map(|surge| surge.min_bid),
        }
    }

    /// A ledger has closed under these conditions; the bid per operation that the queue asks for until the next one.
    pub fn ledger_closed(&mut self) -> Option<u32> {
        self.empty_left = self.empty_left.saturating_sub(1);
        self.shifted = self.skew();
        if let Some(skew) = &mut self.skew {
            skew.left = skew.left.saturating_sub(1);
        }
        self.skew = self.skew.filter(|skew| skew.left > 0);
        if let Some(surge) = &mut self.surge {
            surge.left = surge.left.saturating_sub(1);
        }
        self.surge = self.surge.filter(|surge| surge.left > 0);
        self.surge
            .filter(|surge| surge.queue_full)
            .map(|surge| surge.min_bid)
    }

    /// Everything is as it should be again; close times keep their shift until the clock catches up.
    pub fn clear(&mut self) {
        *self = Self {
            shifted: self.shifted,
            ..Self::default()
        };
    }
}
