//! Delays between tries: exponential with full jitter.

use std::time::Duration;

use backoff::ExponentialBackoff;
use backoff::backoff::Backoff as _;

/// Beyond so many failures the cap has long been reached.
const MOST_STEPS: u32 = 32;

/// A random delay between nothing and `base * 2^(failures - 1)`, at most `cap`.
#[must_use]
pub fn full_jitter(failures: u32, base: Duration, cap: Duration) -> Duration {
    // The crate spreads its interval evenly over [0, 2 * interval] with this factor, hence the halves.
    let mut policy = ExponentialBackoff {
        initial_interval: base / 2,
        current_interval: base / 2,
        randomization_factor: 1.0,
        multiplier: 2.0,
        max_interval: cap / 2,
        max_elapsed_time: None,
        ..ExponentialBackoff::default()
    };
    let mut delay = Duration::ZERO;
    for _ in 0..failures.clamp(1, MOST_STEPS) {
        delay = policy.next_backoff().unwrap_or(cap);
    }
    delay.min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_secs(2);
    const CAP: Duration = Duration::from_secs(120);

    #[test]
    fn delays_spread_from_nothing_to_the_doubled_bound() {
        for (failures, bound) in [
            (1, 2),
            (2, 4),
            (3, 8),
            (6, 64),
            (7, 120),
            (40, 120),
            (u32::MAX, 120),
        ] {
            let bound = Duration::from_secs(bound);
            let delays: Vec<_> = (0..400).map(|_| full_jitter(failures, BASE, CAP)).collect();
            assert!(
                delays.iter().all(|delay| *delay <= bound),
                "{failures} failures"
            );
            assert!(
                delays.iter().any(|delay| *delay > bound / 2),
                "{failures} failures reach the upper half"
            );
            assert!(
                delays.iter().any(|delay| *delay < bound / 2),
                "{failures} failures reach the lower half"
            );
        }
    }
}
