//! What the demonstration reports, and how it is worked out. Effects are counted on the chain, never in our database.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::domain::key::KeyTag;

/// A transaction of ours that succeeded on the chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainEffect {
    /// Tag of the key it belongs to.
    pub(super) tag: KeyTag,
    /// The ledger it is in.
    pub(super) ledger: u32,
}

/// One key as the ledger of submissions saw it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyTimes {
    /// When it was accepted, after the start of the run.
    pub(super) accepted: Duration,
    /// When it was confirmed, after the start of the run.
    pub(super) confirmed: Option<Duration>,
    /// Whether it was reported as failed.
    pub(super) failed: bool,
}

/// Everything a report is worked out from.
pub(super) struct Observations {
    pub(super) payments: u32,
    pub(super) posts: u32,
    pub(super) channels: u32,
    pub(super) answers_lost: u64,
    pub(super) answers_lost_after_accept: u64,
    /// Tag of every unique key, and its times.
    pub(super) keys: HashMap<KeyTag, KeyTimes>,
    pub(super) effects: Vec<ChainEffect>,
    /// When each ledger closed, after the start of the run.
    pub(super) closes: BTreeMap<u32, Duration>,
    pub(super) failed: BTreeMap<String, u64>,
    pub(super) rpc_calls: u64,
    pub(super) elapsed: Duration,
}

/// The demonstration's result.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Payments asked for.
    pub payments: u32,
    /// Requests posted, duplicates included.
    pub posts: u32,
    /// Distinct idempotency keys among them.
    pub unique_keys: usize,
    /// Channel accounts.
    pub channels: u32,
    /// Sends whose answer was lost on purpose.
    pub answers_lost: u64,
    /// Of these, lost after the network took the envelope.
    pub answers_lost_after_accept: u64,
    /// Keys with an effect on the chain.
    pub effects: usize,
    /// Effects on the chain beyond the first of a key.
    pub doubled: usize,
    /// Keys that neither have an effect nor failed for good.
    pub missing: usize,
    /// Keys reported as failed that have an effect.
    pub failed_but_paid: usize,
    /// Failed keys by category.
    pub failed: BTreeMap<String, u64>,
    /// Payments of a ledger, on average over the ledgers that have any.
    pub payments_per_ledger: f64,
    /// Share of the slots used, over ledgers that had work: at each, as many as channels or waiting payments allow.
    pub slots_filled: f64,
    /// Calls to the network for each confirmed payment.
    pub rpc_calls_per_payment: f64,
    /// Time from acceptance to confirmation, half of the keys.
    pub confirm_p50_ms: u64,
    /// The same for 99 of 100 keys.
    pub confirm_p99_ms: u64,
    /// Length of the run.
    pub elapsed_s: f64,
}

impl Report {
    /// Whether every key took effect exactly once, or failed for a reason.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.doubled == 0 && self.missing == 0 && self.failed_but_paid == 0
    }

    pub(super) fn work_out(seen: &Observations) -> Self {
        let mut by_key: HashMap<KeyTag, usize> = HashMap::new();
        for effect in seen
            .effects
            .iter()
            .filter(|effect| seen.keys.contains_key(&effect.tag))
        {
            *by_key.entry(effect.tag).or_default() += 1;
        }
        let doubled = by_key.values().map(|count| count - 1).sum();
        let count = |paid: bool, failed: bool| {
            let keys = seen.keys.iter();
            keys.filter(|(tag, key)| by_key.contains_key(tag) == paid && key.failed == failed)
                .count()
        };
        let per_ledger = per_ledger(&seen.effects);
        let mut times: Vec<_> = seen
            .keys
            .values()
            .filter_map(|key| Some(key.confirmed?.saturating_sub(key.accepted)))
            .collect();
        times.sort_unstable();
        Self {
            payments: seen.payments,
            posts: seen.posts,
            unique_keys: seen.keys.len(),
            channels: seen.channels,
            answers_lost: seen.answers_lost,
            answers_lost_after_accept: seen.answers_lost_after_accept,
            effects: by_key.len(),
            doubled,
            missing: count(false, false),
            failed_but_paid: count(true, true),
            failed: seen.failed.clone(),
            payments_per_ledger: ratio(seen.effects.len(), per_ledger.len()),
            slots_filled: slots_filled(seen, &per_ledger),
            rpc_calls_per_payment: ratio(
                usize::try_from(seen.rpc_calls).unwrap_or(usize::MAX),
                by_key.len(),
            ),
            confirm_p50_ms: quantile(&times, 50),
            confirm_p99_ms: quantile(&times, 99),
            elapsed_s: (seen.elapsed.as_secs_f64() * 100.0).round() / 100.0,
        }
    }
}

fn per_ledger(effects: &[ChainEffect]) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for effect in effects {
        *counts.entry(effect.ledger).or_default() += 1;
    }
    counts
}

/// A ledger had as much work as there were accepted and not yet included payments when the one before it closed.
fn slots_filled(seen: &Observations, per_ledger: &BTreeMap<u32, usize>) -> f64 {
    let (mut used, mut available, mut included) = (0, 0, 0);
    for (previous, closed) in &seen.closes {
        included += per_ledger.get(previous).copied().unwrap_or(0);
        let accepted = seen
            .keys
            .values()
            .filter(|key| key.accepted <= *closed)
            .count();
        let waiting = accepted.saturating_sub(included);
        if waiting > 0 {
            available += waiting.min(seen.channels as usize);
            used += per_ledger
                .get(&(previous + 1))
                .copied()
                .unwrap_or(0)
                .min(seen.channels as usize);
        }
    }
    ratio(used, available).min(1.0)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a demonstration are far below 2^52"
)]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        (part as f64 / whole as f64 * 1000.0).round() / 1000.0
    }
}

/// The smallest time that `percent` of the sorted times do not exceed, in milliseconds.
fn quantile(sorted: &[Duration], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(rank).map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = format!(
            "{} ({} of them after the network had accepted)",
            self.answers_lost, self.answers_lost_after_accept
        );
        let failed: Vec<_> = self
            .failed
            .iter()
            .map(|(category, count)| format!("{category} {count}"))
            .collect();
        let failed = if failed.is_empty() {
            "none".to_owned()
        } else {
            failed.join(", ")
        };
        let rows = [
            (
                "payments asked for",
                format!("{} in {} requests", self.payments, self.posts),
            ),
            ("unique keys", self.unique_keys.to_string()),
            ("answers lost", lost),
            ("keys paid, read from the chain", self.effects.to_string()),
            ("paid twice", self.doubled.to_string()),
            ("missing", self.missing.to_string()),
            (
                "reported as failed, yet paid",
                self.failed_but_paid.to_string(),
            ),
            ("failed", failed),
            (
                "payments per ledger",
                format!(
                    "{:.1} over {} channels",
                    self.payments_per_ledger, self.channels
                ),
            ),
            (
                "slots filled while work waited",
                format!("{:.1} %", self.slots_filled * 100.0),
            ),
            (
                "RPC calls per payment",
                format!("{:.2}", self.rpc_calls_per_payment),
            ),
            (
                "accepted to confirmed",
                format!(
                    "p50 {} ms, p99 {} ms",
                    self.confirm_p50_ms, self.confirm_p99_ms
                ),
            ),
            ("elapsed", format!("{:.1} s", self.elapsed_s)),
        ];
        for (name, value) in rows {
            writeln!(f, "  {name:<32} {value}")?;
        }
        let verdict = if self.holds() {
            "every key took effect exactly once"
        } else {
            "THE PROMISE IS BROKEN"
        };
        write!(f, "\n  {verdict}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(effects: &[(u64, u32)]) -> Observations {
        let key = |accepted, confirmed| KeyTimes {
            accepted: Duration::from_millis(accepted),
            confirmed: Some(Duration::from_millis(confirmed)),
            failed: false,
        };
        Observations {
            payments: 3,
            posts: 4,
            channels: 2,
            answers_lost: 1,
            answers_lost_after_accept: 1,
            keys: HashMap::from([
                (KeyTag(1), key(0, 900)),
                (KeyTag(2), key(10, 1000)),
                (KeyTag(3), key(20, 1900)),
            ]),
            effects: effects
                .iter()
                .map(|(tag, ledger)| ChainEffect {
                    tag: KeyTag(*tag),
                    ledger: *ledger,
                })
                .collect(),
            closes: (4..9)
                .map(|ledger| {
                    (
                        ledger,
                        Duration::from_millis(u64::from(ledger - 4) * 900 + 100),
                    )
                })
                .collect(),
            failed: BTreeMap::new(),
            rpc_calls: 6,
            elapsed: Duration::from_secs(2),
        }
    }

    #[test]
    fn one_effect_for_each_key_holds_and_fills_the_slots() {
        let report = Report::work_out(&observations(&[(1, 5), (2, 5), (3, 6), (99, 6)]));
        assert!(report.holds());
        assert_eq!(
            (report.effects, report.doubled, report.missing),
            (3, 0, 0),
            "strangers' tags do not count"
        );
        assert!((report.slots_filled - 1.0).abs() < f64::EPSILON);
        assert!((report.rpc_calls_per_payment - 2.0).abs() < f64::EPSILON);
        assert_eq!((report.confirm_p50_ms, report.confirm_p99_ms), (990, 1880));
    }

    #[test]
    fn a_doubled_and_a_missing_key_are_counted() {
        let report = Report::work_out(&observations(&[(1, 5), (1, 6), (1, 7), (2, 5)]));
        assert_eq!((report.effects, report.doubled, report.missing), (2, 2, 1));
        assert!(!report.holds());
    }

    #[test]
    fn a_failed_key_is_not_missing_and_must_not_be_paid() {
        let mut seen = observations(&[(1, 5), (2, 5)]);
        for tag in [2, 3] {
            seen.keys.get_mut(&KeyTag(tag)).expect("a key").failed = true;
        }
        let report = Report::work_out(&seen);
        assert_eq!((report.missing, report.failed_but_paid), (0, 1));
        assert!(!report.holds());
    }

    #[test]
    fn an_empty_ledger_with_work_waiting_lowers_the_share_of_slots() {
        let report = Report::work_out(&observations(&[(1, 5), (2, 7), (3, 7)]));
        assert!(report.slots_filled < 0.7, "{}", report.slots_filled);
    }
}
