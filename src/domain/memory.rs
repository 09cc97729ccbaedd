//! Lost memory: a database that was set back knows less than was paid, so it must not decide before the chain has told.
//!
//! Every envelope expires. Once a ledger has closed later than any envelope of ours can live, nothing unknown can be
//! applied any more, and the transaction that used each sequence can be asked for.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::classify::Cause;
use super::status::{Category, Status, Verdict};
use super::submission::{Consumer, Due, Event, Gap, Next, Paid, PairFate, PairUse, State};

/// Longest life of an envelope that any configuration may allow, in milliseconds. Compiled in: after a restore, the
/// settings of envelopes that may still be alive are not known.
pub const LONGEST_WINDOW_MS: u64 = 600_000;
/// How far apart the ledgers may lie that two nodes show, and how long a commit under way may take, in seconds.
const SLACK_S: u64 = 60;

/// Whether the ledger may decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryState {
    /// It remembers all that it ever knew, as far as anybody can tell.
    Open,
    /// It was set back. Nothing is decided before the longest window is over and each consumer is identified.
    Lost,
    /// Some consumers are unknown to it: nothing is decided before they are recovered.
    Held,
}

impl MemoryState {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Open, Self::Lost, Self::Held];

    /// The name in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Lost => "lost",
            Self::Held => "held",
        }
    }
}

/// What a forgotten transaction was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveredKind {
    /// A payment of one of our keys.
    Paid,
    /// One of our keys' that failed in its ledger: nothing was paid by it.
    Failed,
    /// Not in the treasury's name.
    Foreign,
    /// Nobody knows. Staff decided to go on all the same.
    Accepted,
}

impl RecoveredKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Paid, Self::Failed, Self::Foreign, Self::Accepted];

    /// The name in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Failed => "failed",
            Self::Foreign => "foreign",
            Self::Accepted => "accepted",
        }
    }
}

/// How far the memory of a ledger reaches: anybody who has seen more knows that the ledger has forgotten it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Moves with each stop and each reopening, so that what was seen before a recovery does not count after it.
    pub epoch: i64,
    /// The highest line of the transition log.
    pub line: i64,
}

/// The close time (unix seconds) after which no envelope that was signed before the stop can be applied. `closed` is
/// that of a ledger that was read after the stop was committed.
#[must_use]
pub fn resume_after(closed: u64) -> u64 {
    closed.saturating_add(LONGEST_WINDOW_MS / 1_000 + SLACK_S)
}

/// The sequences of a range that were not seen, as ranges.
#[must_use]
pub fn gaps(range: RangeInclusive<i64>, seen: &BTreeSet<i64>) -> Vec<RangeInclusive<i64>> {
    let (mut gaps, mut next) = (Vec::new(), *range.start());
    if range.is_empty() {
        return gaps;
    }
    for used in seen.range(range.clone()) {
        if *used > next {
            gaps.push(next..=used - 1);
        }
        next = used.saturating_add(1);
    }
    if next <= *range.end() {
        gaps.push(next..=*range.end());
    }
    gaps
}

/// What befalls a row in that status whose pair was used by a transaction that the ledger had forgotten, and that did not
/// pay the row's key.
#[must_use]
pub fn of_holder(status: Status, used_by: RecoveredKind) -> Option<Event> {
    let idle = match status {
        Status::Pending | Status::Building => true,
        Status::Submitted | Status::Confirming => false,
        Status::Confirmed | Status::Failed | Status::Cancelled | Status::Simulated => return None,
    };
    match (used_by, idle) {
        // The reconciler sees it too, and knows what to do.
        (RecoveredKind::Foreign, _) => None,
        // Its own envelopes can never be applied any more.
        (RecoveredKind::Paid | RecoveredKind::Failed, false) => {
            Some(Event::ProvenDead(Cause::expired(), Gap::Below))
        }
        (RecoveredKind::Paid | RecoveredKind::Failed, true) => {
            Some(Event::IdlePairConsumed(Consumer::Unknown))
        }
        // It may have been this very key: that is for staff to find out.
        (RecoveredKind::Accepted, false) => Some(Event::ConsumerBeyondReach),
        (RecoveredKind::Accepted, true) => Some(Event::IdlePairConsumed(Consumer::Ours)),
    }
}

/// What a row becomes whose key was paid by a transaction that the ledger had forgotten: wherever it stood by the memory
/// that was left, it never runs again. `None` for one that is known to have succeeded.
pub(super) fn recovered(state: &State, paid: Paid, pair: PairUse) -> Option<Next> {
    if state.status.is_terminal() && state.verdict == Verdict::Success {
        return None;
    }
    let (status, category) = match paid {
        Paid::AsAsked => (Status::Confirmed, None),
        Paid::Otherwise => (Status::Failed, Some(Category::EffectMissing)),
    };
    let pair = match (state.holds_pair, pair) {
        (false, _) => PairFate::Keep,
        (true, PairUse::Used) => PairFate::Spent,
        (true, PairUse::Unused) => PairFate::Unused,
    };
    Some(Next {
        state: State {
            status,
            verdict: Verdict::Success,
            category,
            holds_pair: false,
            ..*state
        },
        pair,
        due: Due::Unchanged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_identified_before_the_longest_window_is_over() {
        assert_eq!(resume_after(1_000), 1_000 + 600 + 60);
        assert_eq!(resume_after(u64::MAX), u64::MAX, "a time that cannot be");
    }

    #[test]
    fn what_was_seen_later_outranks_what_was_seen_before() {
        let mark = |epoch, line| Mark { epoch, line };
        assert!(mark(0, 7) > mark(0, 6));
        assert!(
            mark(1, 1) > mark(0, 9),
            "after a recovery the log is shorter"
        );
    }

    /// The ledger keeps them: a state under another name would be none.
    #[test]
    fn states_keep_their_names() {
        assert_eq!(
            MemoryState::ALL.map(MemoryState::as_str),
            ["open", "lost", "held"]
        );
    }

    #[test]
    fn whoever_held_a_pair_that_something_forgotten_used_goes_on_only_where_that_is_known() {
        use RecoveredKind::{Accepted, Failed, Foreign, Paid};
        let dead = || Event::ProvenDead(Cause::expired(), Gap::Below);
        for idle in [Status::Pending, Status::Building] {
            for known in [Paid, Failed] {
                let event = Event::IdlePairConsumed(Consumer::Unknown);
                assert_eq!(of_holder(idle, known), Some(event));
            }
            let event = Event::IdlePairConsumed(Consumer::Ours);
            assert_eq!(of_holder(idle, Accepted), Some(event));
            assert_eq!(of_holder(idle, Foreign), None);
        }
        for in_flight in [Status::Submitted, Status::Confirming] {
            assert_eq!(of_holder(in_flight, Paid), Some(dead()));
            assert_eq!(of_holder(in_flight, Failed), Some(dead()));
            let event = Event::ConsumerBeyondReach;
            assert_eq!(of_holder(in_flight, Accepted), Some(event));
            assert_eq!(of_holder(in_flight, Foreign), None);
        }
        for end in [Status::Confirmed, Status::Failed, Status::Cancelled] {
            for kind in RecoveredKind::ALL {
                assert_eq!(of_holder(end, kind), None);
            }
        }
    }

    #[test]
    fn gaps_are_what_nobody_saw() {
        let rows = [
            (vec![], vec![5..=9]),
            (vec![5, 6, 7, 8, 9], vec![]),
            (vec![6, 8], vec![5..=5, 7..=7, 9..=9]),
            (vec![1, 7, 20], vec![5..=6, 8..=9]),
            (vec![5, 9], vec![6..=8]),
        ];
        for (seen, expected) in rows {
            assert_eq!(
                gaps(5..=9, &seen.iter().copied().collect()),
                expected,
                "{seen:?}"
            );
        }
        let none = gaps(RangeInclusive::new(5, 4), &BTreeSet::from([4]));
        assert!(none.is_empty(), "an account that did not move");
    }
}
