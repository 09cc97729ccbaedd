//! Waiting for what has no signal of its own: looked at again and again, up to a deadline.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

/// How often a condition is looked at.
pub const LOOK: Duration = Duration::from_millis(25);

/// Waits until `look` finds what it looks for, and returns it. The test fails after `patience`, with what was seen last.
pub async fn until<T>(
    what: &str,
    patience: Duration,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = String::new();
    let found = timeout(patience, async {
        loop {
            looks.tick().await;
            match look().await {
                Ok(found) => return found,
                Err(seen) => last = seen,
            }
        }
    })
    .await;
    found.unwrap_or_else(|_| panic!("waited {patience:?} in vain for {what}; at last: {last}"))
}

/// For [`until`]: found if `condition` holds, else `seen` is what there is instead.
pub fn when(condition: bool, seen: impl std::fmt::Debug) -> Result<(), String> {
    condition.then_some(()).ok_or_else(|| format!("{seen:?}"))
}
