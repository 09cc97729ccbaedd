//! How long an envelope lives, how often and how eagerly work is retried, how much is under way at a time.

use super::reader::Reader;
use super::registry::Group;
use super::setting::{Presence, Setting};
use super::show;
use crate::domain::memory::LONGEST_WINDOW_MS;
use std::time::Duration;

/// Ledgers an envelope must outlive (4 in a queue, 10 banned), and the 2 target close times by which the network refuses early.
const WINDOW_LEDGERS: u32 = 14 + 2;

static WINDOW: Setting = Setting::number(
    "TX_CONFIRMATION_TIMEOUT_MS",
    "120000",
    ("ms", 1_000, LONGEST_WINDOW_MS),
    "How long an envelope may be applied, counted from the last ledger's close time. At least 16 times STELLAR_LEDGER_CLOSE_MS.",
);
static INTERVAL: Setting = Setting::number(
    "RECONCILER_INTERVAL_MS",
    "1000",
    ("ms", 10, 60_000),
    "How often the reconciler compares the ledger with the chain.",
);
static RETRIES: Setting = Setting::number(
    "TX_MAX_TRANSIENT_RETRIES",
    "5",
    ("retries", 0, 1_000),
    "How many proofs of expiry and passing failures in a ledger a submission survives. Sending the same bytes again does not count.",
);
static CLAIMS: Setting = Setting::number(
    "TX_MAX_CLAIMS",
    "20",
    ("claims", 1, 10_000),
    "How often a submission may be taken up without an envelope being recorded before it fails.",
);
static BACKOFF_BASE: Setting = Setting::number(
    "OUTBOX_BACKOFF_BASE_MS",
    "2000",
    ("ms", 1, 3_600_000),
    "Bound of the random pause before the first retry; it doubles with every further one.",
);
static BACKOFF_MAX: Setting = Setting::number(
    "OUTBOX_BACKOFF_MAX_MS",
    "120000",
    ("ms", 1, 86_400_000),
    "Largest bound of that pause. Not below OUTBOX_BACKOFF_BASE_MS.",
);
static GLOBAL: Setting = Setting::new(
    "OUTBOX_GLOBAL_MAX_IN_FLIGHT",
    Presence::Optional("the number of channel accounts"),
    super::setting::Shape::Number {
        unit: "submissions",
        min: 1,
        max: 100_000,
    },
    "How many submissions may be under way at a time, over all processes.",
);
static PER_ACCOUNT: Setting = Setting::text(
    "OUTBOX_PER_ACCOUNT_MAX_IN_FLIGHT",
    Presence::Default("1"),
    "1",
    "How many submissions one channel account may carry at a time. The network's queue takes one transaction per account, so nothing but 1 is accepted.",
);
static BATCH: Setting = Setting::number(
    "OUTBOX_BATCH_SIZE",
    "20",
    ("submissions", 1, 1_000),
    "How many due submissions one pass over the ledger takes up.",
);

static SETTINGS: &[&Setting] = &[
    &WINDOW,
    &INTERVAL,
    &RETRIES,
    &CLAIMS,
    &BACKOFF_BASE,
    &BACKOFF_MAX,
    &GLOBAL,
    &PER_ACCOUNT,
    &BATCH,
];
pub(super) const GROUP: Group = Group {
    title: "Submitting and retrying",
    settings: SETTINGS,
};

/// Limits of time, number and eagerness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submit {
    /// How long an envelope may be applied after the last close time seen.
    pub window: Duration,
    /// How often the reconciler runs.
    pub reconcile_interval: Duration,
    /// Proofs of death and transient ledger failures a submission survives.
    pub max_transient_retries: u32,
    /// Claims without a recording before a submission fails.
    pub max_claims: u32,
    /// Bound of the first pause before a retry.
    pub backoff_base: Duration,
    /// Largest bound of such a pause; not below the base.
    pub backoff_max: Duration,
    /// Submissions under way over all processes; none means as many as there are channel accounts.
    pub max_in_flight: Option<u32>,
    /// Due submissions taken up by one pass.
    pub batch_size: u32,
}

impl Submit {
    /// `ledger_close` is the network's target close time, if it is known.
    pub(super) fn parse(r: &mut Reader, ledger_close: Option<Duration>) -> Option<Self> {
        let window = r.millis(&WINDOW);
        if let (Some(window), Some(close)) = (window, ledger_close) {
            check_window(r, window, close);
        }
        let reconcile_interval = r.millis(&INTERVAL);
        if let (Some(window), Some(interval)) = (window, reconcile_interval)
            && interval >= window
        {
            r.fault(
                &INTERVAL,
                "contradicts TX_CONFIRMATION_TIMEOUT_MS: envelopes would expire between two runs",
            );
        }
        let (base, max) = (r.millis(&BACKOFF_BASE), r.millis(&BACKOFF_MAX));
        if let (Some(base), Some(max)) = (base, max)
            && base > max
        {
            r.fault(
                &BACKOFF_BASE,
                "contradicts OUTBOX_BACKOFF_MAX_MS, which is smaller",
            );
        }
        let max_transient_retries = r.number(&RETRIES);
        let max_claims = r.number(&CLAIMS);
        let max_in_flight = r.number(&GLOBAL);
        check_per_account(r);
        let batch_size = r.number(&BATCH);
        Some(Self {
            window: window?,
            reconcile_interval: reconcile_interval?,
            max_transient_retries: max_transient_retries?,
            max_claims: max_claims?,
            backoff_base: base?,
            backoff_max: max?,
            max_in_flight,
            batch_size: batch_size?,
        })
    }
}

fn check_window(r: &mut Reader, window: Duration, close: Duration) {
    let least = close * WINDOW_LEDGERS;
    if window < least {
        let (window, least) = (window.as_millis(), least.as_millis());
        let close = close.as_millis();
        r.fault(&WINDOW, format!("{window} ms is too short: with ledgers of {close} ms an envelope needs {least} ms to outlive the network's queue (4 ledgers), its ban (10) and its early refusal (2)"));
    }
}

fn check_per_account(r: &mut Reader) {
    if let Some(text) = r.text(&PER_ACCOUNT)
        && text != "1"
    {
        let shown = show::public(&text);
        r.fault(&PER_ACCOUNT, format!("must be 1, not `{shown}`: the network's queue holds one transaction per account, so a second one would be refused. Add channel accounts instead"));
    }
}
