//! What is known about each node, and the rules that follow: whom to ask first, and whom not to believe.

use std::time::Duration;

use tokio::time::Instant;

/// A node that failed is not preferred again for so long.
pub(super) const REST: Duration = Duration::from_secs(10);
/// A node that nobody asked for so long is looked at, so that lagging and jumping ahead are noticed.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Ledgers that a node may be behind the highest of all before others are preferred.
const LAG_LEDGERS: u32 = 3;
/// How far ahead of all others a node may be, in ledgers and in seconds of close time.
const LEAD_LEDGERS: u32 = 20;
const LEAD_CLOSE_S: u64 = 120;
/// What the others said counts for so long; against a node that is set aside already, for longer.
const HEARSAY: Duration = Duration::from_secs(30);
const HEARSAY_ASIDE: Duration = Duration::from_secs(60);
/// Nobody is set aside by what the others said before that: they may have closed ledgers since.
const JUST_NOW: Duration = Duration::from_secs(1);

/// The last ledger of a node, as an answer shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Its number.
    pub ledger: u32,
    /// When it closed, in unix seconds, where the answer tells.
    pub close_time: Option<u64>,
}

/// Which network a node serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Serves {
    /// It has not told yet.
    #[default]
    Untold,
    /// Ours.
    Ours,
    /// Another one: it is never asked.
    Another,
}

/// What is known about one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// Its network.
    pub serves: Serves,
    /// It failed: not preferred until then, nor before it answers again.
    pub rests_until: Option<Instant>,
    /// It is implausibly ahead of the others: what it says is not believed.
    pub aside: bool,
    /// Its last answer came from behind the others.
    pub lags: bool,
    /// The highest ledger it has shown, and was believed.
    pub highest: Option<Shown>,
    /// When it last showed one.
    pub heard_at: Option<Instant>,
    /// When it last answered or failed to.
    pub tried_at: Option<Instant>,
    /// When it was last asked for no other reason than to know where it is.
    pub looked_at: Option<Instant>,
}

/// Whether an answer is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is.
    Believed,
    /// It depends on what the others say now.
    AskOthers,
    /// Its node is to be set aside.
    Implausible,
}

impl Standing {
    /// Whether to ask it where it is.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let within = |at: Option<Instant>| is_within(at, LOOK_EVERY, now);
        self.serves != Serves::Another && !within(self.tried_at) && !within(self.looked_at)
    }

    /// It answered.
    pub(super) fn answered(&mut self, now: Instant) {
        self.tried_at = Some(now);
        if self.rests_until.is_some_and(|until| until <= now) {
            self.rests_until = None;
        }
    }

    /// It failed to answer.
    pub(super) fn failed(&mut self, now: Instant) {
        self.tried_at = Some(now);
        self.rests_until = Some(now + REST);
    }

    /// Takes note of a ledger that is believed.
    pub(super) fn showed(&mut self, shown: Shown, now: Instant) {
        self.aside = false;
        self.heard_at = Some(now);
        self.highest = Some(self.highest.map_or(shown, |highest| Shown {
            ledger: highest.ledger.max(shown.ledger),
            close_time: highest.close_time.max(shown.close_time),
        }));
    }

    /// Compares where it is now with the highest of the others.
    pub(super) fn compare(&mut self, shown: Shown, others: Option<Shown>) {
        self.lags = others.is_some_and(|of| shown.ledger.saturating_add(LAG_LEDGERS) < of.ledger);
    }

    /// Whether a ledger is what time alone has made of the last one this node was believed. So a node that goes on is
    /// not set aside because all others stand still.
    fn leads_to(&self, shown: Shown, now: Instant) -> bool {
        let (Some(last), Some(at)) = (self.highest, self.heard_at) else {
            return false;
        };
        // No network closes more than one ledger a second.
        let seconds = now.saturating_duration_since(at).as_secs();
        let ledgers = u32::try_from(seconds).unwrap_or(u32::MAX);
        let later = Shown {
            ledger: last.ledger.saturating_add(ledgers),
            close_time: last.close_time.map(|close| close.saturating_add(seconds)),
        };
        !is_far_ahead(shown, later)
    }
}

fn is_within(at: Option<Instant>, age: Duration, now: Instant) -> bool {
    at.is_some_and(|at| now.saturating_duration_since(at) < age)
}

fn is_far_ahead(shown: Shown, of: Shown) -> bool {
    let by_ledger = shown.ledger > of.ledger.saturating_add(LEAD_LEDGERS);
    let by_time = shown
        .close_time
        .zip(of.close_time)
        .is_some_and(|(shown, of)| shown > of.saturating_add(LEAD_CLOSE_S));
    by_ledger || by_time
}

/// The highest ledger and close time of nodes that are believed.
pub(super) fn highest<'a>(nodes: impl IntoIterator<Item = &'a Standing>) -> Option<Shown> {
    let believed = nodes.into_iter().filter(|node| !node.aside);
    believed
        .filter_map(|node| node.highest)
        .reduce(|one, other| Shown {
            ledger: one.ledger.max(other.ledger),
            close_time: one.close_time.max(other.close_time),
        })
}

/// Whether to believe a node's answer that shows that ledger. `asked`: the others were asked for it.
///
/// Chain time never goes back, so a node that is far ahead of all others would, once believed, make the answers of every
/// honest node look like the past. It is set aside until the others catch up or fall silent. The only node that talks is
/// believed.
pub(super) fn weigh<'a>(
    own: &Standing,
    mut others: impl Iterator<Item = &'a Standing> + Clone,
    shown: Shown,
    asked: bool,
    now: Instant,
) -> Verdict {
    if !own.aside && own.leads_to(shown, now) {
        return Verdict::Believed;
    }
    let hearsay = if own.aside { HEARSAY_ASIDE } else { HEARSAY };
    let talking = others
        .clone()
        .filter(|other| is_within(other.heard_at, hearsay, now));
    let (age, verdict) = match highest(talking) {
        None => (LOOK_EVERY, Verdict::Believed),
        Some(of) if is_far_ahead(shown, of) => (JUST_NOW, Verdict::Implausible),
        Some(_) => return Verdict::Believed,
    };
    let untried =
        |other: &Standing| other.serves != Serves::Another && !is_within(other.tried_at, age, now);
    if !asked && others.any(untried) {
        Verdict::AskOthers
    } else {
        verdict
    }
}

/// The nodes in the order in which to ask them: as configured, but set aside last, before those the ones that failed,
/// longest ago first, and before those the ones that lag. None of another network.
pub(super) fn order(nodes: &[Standing]) -> Vec<usize> {
    let mut order: Vec<_> = (0..nodes.len())
        .filter(|node| nodes[*node].serves != Serves::Another)
        .collect();
    order.sort_by_key(|node| {
        let node = &nodes[*node];
        (node.aside, node.rests_until, node.lags)
    });
    order
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;
