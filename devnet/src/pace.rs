//! When ledgers close, and what their close times are.

use std::time::Duration;

/// Shortest interval at which close times follow the wall clock: they are whole seconds and must increase.
const WALL_CLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// When ledgers close, and what their close times are.
///
/// Close times are whole unix seconds and each is later than the one before. At an interval of a second or more they
/// follow the wall clock. Faster ledgers, and ledgers closed by hand, are one second apart in the network's time whatever
/// the wall clock says, beginning at the start ledger's; so time in such a network may run ahead or behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Only when [`DevNode::close_ledger`](crate::node::DevNode::close_ledger) is called.
    ByHand,
    /// Whenever this much time is over.
    Every(Duration),
}

impl Default for Pace {
    fn default() -> Self {
        Self::Every(Duration::from_secs(1))
    }
}

impl Pace {
    fn follows_wall_clock(self) -> bool {
        match self {
            Self::ByHand => false,
            Self::Every(interval) => interval >= WALL_CLOCK_INTERVAL,
        }
    }

    /// Close time of the next ledger. `skew` is how many seconds the network's clock is ahead, `step` how many more than at
    /// the last close.
    pub(crate) fn close_time(self, last: u64, now: u64, skew: i64, step: i64) -> u64 {
        let next = last.saturating_add(1);
        if self.follows_wall_clock() {
            now.saturating_add_signed(skew).max(next)
        } else {
            next.saturating_add_signed(step).max(next)
        }
    }

    /// Seconds between the last close and now, in the network's time.
    pub(crate) fn drift(self, last: u64, now: u64) -> u64 {
        if self.follows_wall_clock() {
            now.saturating_sub(last)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_ledgers_follow_the_wall_clock_and_fast_ones_advance_a_second() {
        let slow = Pace::Every(Duration::from_secs(5));
        assert_eq!(slow.close_time(100, 105, 0, 0), 105);
        assert_eq!(slow.close_time(100, 100, 0, 0), 101);
        assert_eq!(slow.close_time(100, 90, 0, 0), 101);
        assert_eq!(slow.drift(100, 103), 3);
        for pace in [Pace::Every(Duration::from_millis(999)), Pace::ByHand] {
            assert_eq!(pace.close_time(100, 5000, 0, 0), 101);
            assert_eq!(pace.drift(100, 5000), 0);
        }
    }

    #[test]
    fn a_skewed_clock_shifts_close_times_that_still_increase() {
        let slow = Pace::Every(Duration::from_secs(5));
        assert_eq!(slow.close_time(100, 105, 60, 60), 165);
        assert_eq!(slow.close_time(165, 110, 0, -60), 166);
        assert_eq!(slow.close_time(100, 105, -60, -60), 101);
        assert_eq!(Pace::ByHand.close_time(100, 0, 30, 30), 131);
        assert_eq!(Pace::ByHand.close_time(131, 0, 30, 0), 132);
        assert_eq!(Pace::ByHand.close_time(132, 0, 0, -30), 133);
    }
}
