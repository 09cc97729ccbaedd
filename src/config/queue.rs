//! How much of the ledger's work waits in the queue, and how much of it runs.

use super::reader::Reader;
use super::registry::Group;
use super::setting::Setting;

static WINDOW: Setting = Setting::number(
    "QUEUE_WINDOW",
    "500",
    ("jobs", 2, 5_000),
    "How many jobs of one priority wait in the queue at most; the rest waits in the ledger. Bounds the memory of Redis.",
);
static CONCURRENCY: Setting = Setting::number(
    "QUEUE_CONCURRENCY",
    "32",
    ("jobs", 2, 1_024),
    "How many jobs one worker process runs at once; a quarter of them, at least one, only critical ones. Not above QUEUE_WINDOW.",
);

static SETTINGS: &[&Setting] = &[&WINDOW, &CONCURRENCY];
pub(super) const GROUP: Group = Group {
    title: "Queue",
    settings: SETTINGS,
};

/// Bounds of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Jobs of one priority that wait in the queue at most.
    pub window: u32,
    /// Jobs one worker process runs at once.
    pub concurrency: u32,
}

impl Queue {
    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        let window: Option<u32> = r.number(&WINDOW);
        let concurrency: Option<u32> = r.number(&CONCURRENCY);
        if let (Some(window), Some(concurrency)) = (window, concurrency)
            && concurrency > window
        {
            r.fault(
                &CONCURRENCY,
                "contradicts QUEUE_WINDOW: never so many jobs are in the queue",
            );
        }
        Some(Self {
            window: window?,
            concurrency: concurrency?,
        })
    }
}
