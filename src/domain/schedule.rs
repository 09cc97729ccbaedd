//! Order of work: priorities and the lanes of the queue.

/// How urgent a submission is. Order is priority, then first in, first out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Capital that must leave now.
    Critical,
    /// Everyday payments.
    Normal,
    /// Rebalances and other work that can wait.
    Low,
}

impl Priority {
    /// All priorities, most urgent first.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Normal, Self::Low];

    /// The name in the API and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "CRITICAL",
            Self::Normal => "NORMAL",
            Self::Low => "LOW",
        }
    }

    /// Rank in the ledger: smaller is more urgent.
    #[must_use]
    pub fn rank(self) -> i16 {
        match self {
            Self::Critical => 0,
            Self::Normal => 1,
            Self::Low => 2,
        }
    }

    /// The priority of that rank.
    #[must_use]
    pub fn from_rank(rank: i16) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.rank() == rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows keep the rank, and SQL orders by it.
    #[test]
    fn the_more_urgent_has_the_smaller_rank_and_each_rank_one_priority() {
        assert_eq!(Priority::ALL.map(Priority::rank), [0, 1, 2]);
        assert_eq!(
            Priority::ALL.map(Priority::as_str),
            ["CRITICAL", "NORMAL", "LOW"]
        );
        for priority in Priority::ALL {
            assert_eq!(Priority::from_rank(priority.rank()), Some(priority));
        }
        assert_eq!(Priority::from_rank(-1), None);
        assert_eq!(Priority::from_rank(3), None);
    }
}
