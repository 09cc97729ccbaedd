//! Relay: takes what callers wrote to the outbox into the ledger. Any number may run: an intent that one has in hand is
//! passed over by the others, and its key makes one submission of it whatever happens.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::intent::JUDGE;
use crate::ledger::outbox::{BATCH, Moved};
use crate::ledger::{Ledger, LedgerError};
use crate::metrics::{self, Metrics};

/// An intent that the database would not take in is tried again after that time.
const ASIDE: Duration = Duration::from_secs(60);
/// Intents that are put aside at a time.
const MOST_ASIDE: usize = 1_000;
/// Pause before the database is asked again for a bell.
const BELL_RETRY: Duration = Duration::from_secs(1);

/// Moves intents from the outbox to the ledger.
pub struct Relay {
    ledger: Ledger,
    metrics: Arc<Metrics>,
    /// Wakes the feed when there is something new.
    feed: Arc<Notify>,
    /// Longest time until it looks again.
    period: Duration,
    /// What the database would not take in, and when to try it again.
    aside: HashMap<i64, Instant>,
}

/// What a pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relayed {
    /// Intents that have a submission now.
    pub accepted: usize,
    /// Intents that are refused.
    pub refused: usize,
    /// Intents that the database would not take in.
    pub left: usize,
}

impl Relay {
    /// A relay into that ledger, which looks at least once a period.
    #[must_use]
    pub fn new(ledger: Ledger, metrics: Arc<Metrics>, feed: Arc<Notify>, period: Duration) -> Self {
        Self {
            ledger,
            metrics,
            feed,
            period,
            aside: HashMap::new(),
        }
    }

    /// One pass: everything that is there and nobody else has in hand.
    ///
    /// # Errors
    /// The ledger did not answer. What was taken in before stays so.
    pub async fn run_once(&mut self) -> Result<Relayed, LedgerError> {
        let mut relayed = Relayed::default();
        while self.batch(&mut relayed).await? {}
        Ok(relayed)
    }

    /// Runs until cancelled: when transactions with intents are announced, and on a period in case nobody announces them.
    pub async fn run(mut self, shutdown: &CancellationToken) {
        let (ledger, announced) = (self.ledger.clone(), Notify::new());
        tokio::select! {
            () = self.passes(&announced, shutdown) => {}
            never = listen(&ledger, &announced) => match never {},
        }
    }

    async fn passes(&mut self, announced: &Notify, shutdown: &CancellationToken) {
        let mut relayed = Relayed::default();
        loop {
            // Between two batches it may be told to end.
            let more = match self.batch(&mut relayed).await {
                Ok(more) => more,
                Err(error) => {
                    tracing::warn!(%error, "the relay of the outbox will look again");
                    false
                }
            };
            if more && !shutdown.is_cancelled() {
                continue;
            }
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = announced.notified() => {}
                () = tokio::time::sleep(self.period) => {}
            }
        }
    }

    /// One batch. True: there may be more.
    async fn batch(&mut self, relayed: &mut Relayed) -> Result<bool, LedgerError> {
        let now = Instant::now();
        self.aside.retain(|_, until| *until > now);
        let aside = self.aside.keys().copied().collect();
        let moved = self.ledger.take_intents(aside, JUDGE).await?;
        self.tell(&moved, relayed);
        for (id, _) in &moved.left {
            if self.aside.len() < MOST_ASIDE {
                self.aside.insert(*id, now + ASIDE);
            }
        }
        let full = moved.settled.len() + moved.left.len() >= usize::try_from(BATCH).unwrap_or(0);
        // With nowhere to put them aside the same ones would come again at once.
        Ok(full && self.aside.len() < MOST_ASIDE)
    }

    fn tell(&self, moved: &Moved, relayed: &mut Relayed) {
        let before = relayed.accepted;
        for (id, outcome) in &moved.settled {
            match outcome {
                Ok(_) => {
                    relayed.accepted += 1;
                    self.metrics.intent_relayed(metrics::Relayed::Accepted);
                }
                Err(refused) => {
                    // The reason stands in the row: it names what its caller wrote.
                    tracing::error!(intent = id, code = refused.code, "an intent was refused");
                    relayed.refused += 1;
                    self.metrics.intent_relayed(metrics::Relayed::Refused);
                }
            }
        }
        for (id, error) in &moved.left {
            tracing::error!(intent = id, %error, "an intent cannot be taken in, and is tried again later");
            relayed.left += 1;
            self.metrics.intent_relayed(metrics::Relayed::Failed);
        }
        if relayed.accepted > before {
            self.feed.notify_one();
        }
    }
}

/// Passes on what the database announces, for as long as it can.
async fn listen(ledger: &Ledger, announced: &Notify) -> Infallible {
    loop {
        match announcements(ledger, announced).await {
            Ok(never) => match never {},
            Err(error) => {
                tracing::warn!(%error, "the outbox is looked at on its period only, until it can be listened to again");
            }
        }
        tokio::time::sleep(BELL_RETRY).await;
    }
}

async fn announcements(ledger: &Ledger, announced: &Notify) -> Result<Infallible, LedgerError> {
    let Some(mut bell) = ledger.bell().await? else {
        return std::future::pending().await;
    };
    // Whatever came before was announced to nobody.
    announced.notify_one();
    loop {
        bell.rung().await?;
        announced.notify_one();
    }
}
