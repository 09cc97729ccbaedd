//! How often the outbox is looked at.

use std::time::Duration;

use super::reader::Reader;
use super::registry::Group;
use super::setting::Setting;

static INTERVAL: Setting = Setting::number(
    "OUTBOX_RELAY_INTERVAL_MS",
    "500",
    ("ms", 10, 60_000),
    "How often a worker looks for intents in the table `outbox`. PostgreSQL announces most of them, so that they are taken in at once.",
);

static SETTINGS: &[&Setting] = &[&INTERVAL];
pub(super) const GROUP: Group = Group {
    title: "Outbox table",
    settings: SETTINGS,
};

/// Bounds of the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Longest time between two looks.
    pub interval: Duration,
}

impl Relay {
    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        let interval = r.millis(&INTERVAL);
        Some(Self {
            interval: interval?,
        })
    }
}
