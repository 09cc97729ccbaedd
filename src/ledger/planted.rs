//! Bugs planted on purpose, in builds that only tests make.

use std::sync::atomic::AtomicBool;

/// Whether recording another envelope leaves the row's version as it is, and the log without a line.
pub static BUMPS_MOVE_NOTHING: AtomicBool = AtomicBool::new(false);

/// Whether a shared account goes on after a sequence that nobody used.
pub static GAPS_ARE_SKIPPED: AtomicBool = AtomicBool::new(false);
