//! Submit: claim a due row, build its envelope, record it, send it. A worker never waits for a ledger: the reconciler
//! settles what was sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::accept;
use super::allocate::Allocator;
use super::chain::Chain;
use super::recover::settled_by;
use super::send::{SendError, Sender};
use crate::domain::fees;
use crate::domain::ids::SubmissionId;
use crate::domain::submission::{Event, PairUse};
use crate::ledger::{
    Applied, Change, Claim, ClaimOutcome, Ledger, LedgerError, Recovered, Submission,
};
use crate::stellar::envelope::{self, BuildError, Recipe, SignedEnvelope};
use crate::stellar::keyring::{Identity, KeyRing};
use crate::stellar::rpc::Seen;

/// A sighting older than this is refreshed before it dates an envelope.
const FRESH_ENOUGH: Duration = Duration::from_secs(3);
/// The oldest sighting that dates an envelope. Claiming and recording may take as long as a slow database makes them; the
/// margin before `max_time`, after which nothing is sent, must still lie ahead then.
const OLDEST: Duration = Duration::from_secs(30);

/// Submits claimed rows.
pub struct Submitter {
    ledger: Ledger,
    sender: Arc<Sender>,
    identity: Identity,
    keys: KeyRing,
    chain: Arc<Chain>,
    settings: SubmitSettings,
    /// Hands out sequences of one account, if that is the strategy.
    allocator: Option<Allocator>,
    oldest: Duration,
    /// Whether the pool has channels that this process has no key for.
    lacks_keys: AtomicBool,
}

/// What envelopes offer and how long they live.
#[derive(Clone, Copy, Debug)]
pub struct SubmitSettings {
    /// Base fee bid for one operation, in stroops.
    pub base_fee: i64,
    /// Highest total fee, in stroops.
    pub max_fee: i64,
    /// `max_time` is the last close time seen plus this, in seconds.
    pub confirmation_timeout_s: u64,
}

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Its envelope was recorded and handed to the network, which may or may not have it.
    Sent,
    /// Its envelope was recorded behind an earlier sequence of the same account: the reconciler sends it in its turn.
    Recorded,
    /// Somebody else has the row, it is not due, or it is settled.
    NotDue,
    /// No channel was free: the feed pushes it again.
    NoChannel,
    /// The claim was lost before an envelope was recorded.
    ClaimLost,
    /// No envelope could be built: the claim is given back.
    NotBuilt,
    /// The network does not tell its time: nothing was claimed, and the feed pushes the row again after a while.
    NoChainTime,
    /// Its key was paid by a transaction that the ledger had forgotten: the row is settled by it, and nothing was sent.
    Recovered,
    /// This process has no key for the channel: it was given back, and the row goes on with another one.
    NoKey,
}

/// Why no envelope was built. Nothing was sent.
#[derive(Debug, thiserror::Error)]
enum NotBuilt {
    /// The stored payload does not parse.
    #[error("the stored payload is not an operation: {0}")]
    Payload(String),
    /// This process has no key for the leased channel.
    #[error("no key for channel {0}")]
    NoKey(crate::domain::ids::AccountId),
    /// Signing or encoding failed.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl Submitter {
    /// A submitter over these parts.
    #[must_use]
    pub fn new(
        ledger: Ledger,
        sender: Arc<Sender>,
        identity: Identity,
        keys: KeyRing,
        chain: Arc<Chain>,
        settings: SubmitSettings,
    ) -> Self {
        Self {
            ledger,
            sender,
            identity,
            keys,
            chain,
            settings,
            allocator: None,
            oldest: OLDEST,
            lacks_keys: AtomicBool::new(false),
        }
    }

    /// The same submitter, whose rows share one account instead of leasing one each.
    #[must_use]
    pub fn serialized_by(mut self, allocator: Allocator) -> Self {
        self.allocator = Some(allocator);
        self
    }

    /// Takes one submission as far as the network's first answer.
    ///
    /// # Errors
    /// The ledger did not answer. Whatever was recorded is sent by the reconciler; whatever was only claimed lapses.
    pub async fn submit(&self, id: SubmissionId) -> Result<Submitted, LedgerError> {
        // Asked before claiming: a network that is away must not use claims up, and between claiming and recording
        // nothing is waited for but the ledger.
        let Some(seen) = self.chain_time().await else {
            return Ok(Submitted::NoChainTime);
        };
        let (outcome, turn) = step!("submit.claim", self.claim(id).await)?;
        let claim = match outcome {
            ClaimOutcome::Claimed(claim) => claim,
            ClaimOutcome::Paid(row, paid) => return self.was_paid(&row, &paid).await,
            ClaimOutcome::NotDue => return Ok(Submitted::NotDue),
            ClaimOutcome::NoChannel => return Ok(Submitted::NoChannel),
        };
        let signed = match step!("submit.build", self.build(&claim, seen).await) {
            Ok(signed) => signed,
            Err(error) => return self.give_back(&claim, &error).await,
        };
        #[cfg(feature = "planted-bugs")]
        if super::planted::sends_first() {
            self.sender
                .rpc()
                .send_transaction(signed.hash, &signed.xdr)
                .await;
        }
        // An unknown commit must not be followed by a send, so the error leaves here.
        let recorded = step!(
            "submit.record",
            self.ledger
                .record(&claim, signed.clone().into(), seen.ledger)
                .await
        )?;
        match recorded {
            Applied::Done(_) if !turn => Ok(Submitted::Recorded),
            Applied::Done(row) => match step!(
                "submit.send",
                self.sender
                    .send(&row, signed.hash, &signed.xdr, signed.operations)
                    .await
            ) {
                Ok(()) => Ok(Submitted::Sent),
                Err(SendError::Ledger(error)) => Err(error),
            },
            Applied::Stale | Applied::Illegal(_) | Applied::NotFound => Ok(Submitted::ClaimLost),
        }
    }

    /// A worker that has met a channel without a key leases only those it can sign for. Says also whether the pair's
    /// turn has come: that of a leased account always has.
    async fn claim(&self, id: SubmissionId) -> Result<(ClaimOutcome, bool), LedgerError> {
        if let Some(allocator) = &self.allocator {
            return allocator.claim(id).await;
        }
        let outcome = if self.lacks_keys.load(Ordering::Relaxed) {
            self.ledger.claim_among(id, &self.keys.channels()).await?
        } else {
            self.ledger.claim(id).await?
        };
        Ok((outcome, true))
    }

    async fn build(&self, claim: &Claim, seen: Seen) -> Result<SignedEnvelope, NotBuilt> {
        let submission = &claim.submission;
        let operation = accept::operation_of(&submission.payload)
            .map_err(|fault| NotBuilt::Payload(fault.to_string()))?;
        let channel = self
            .keys
            .channel(claim.pair.account)
            .ok_or(NotBuilt::NoKey(claim.pair.account))?;
        let signed = envelope::build(Recipe {
            network: &self.identity.network,
            pair: claim.pair,
            channel,
            treasury: self.keys.treasury(),
            operation: &operation,
            tag: submission.tag,
            fee: fees::first_bid(self.settings.base_fee, self.settings.max_fee),
            max_time: seen.close_time + self.settings.confirmation_timeout_s,
        })
        .await?;
        Ok(signed)
    }

    /// The last close time, unless nobody has told it for too long.
    async fn chain_time(&self) -> Option<Seen> {
        if let Some(seen) = self.chain.recent(FRESH_ENOUGH.min(self.oldest)) {
            return Some(seen);
        }
        match self.sender.rpc().latest().await {
            Ok(seen) => {
                self.chain.observe(seen);
            }
            Err(fault) => {
                tracing::warn!(fault = %fault.code(), "the network does not tell its last ledger");
            }
        }
        // An older sighting makes the envelope's life shorter, so not any will do.
        self.chain.recent(self.oldest)
    }

    /// Nothing is sent for a key that the chain showed to be paid, whoever pushed it again.
    async fn was_paid(&self, row: &Submission, paid: &Recovered) -> Result<Submitted, LedgerError> {
        let change = settled_by(&self.identity, row, paid, PairUse::Unused, "worker");
        tracing::warn!(submission = %row.id, hash = ?paid.hash, event = change.event.as_str(), "paid before the ledger was set back");
        step!("submit.recovered", self.ledger.apply(change).await)?;
        Ok(Submitted::Recovered)
    }

    async fn give_back(&self, claim: &Claim, error: &NotBuilt) -> Result<Submitted, LedgerError> {
        let submission = claim.submission.id;
        let (event, became) = match error {
            // Trying again with the same pair would use all claims of one row after another. Other workers may have the
            // key, so the account stays in the pool.
            NotBuilt::NoKey(channel) => {
                tracing::error!(%submission, %channel, "this worker has no key for a channel account: staff must look at its settings");
                self.lacks_keys.store(true, Ordering::Relaxed);
                (Event::Deferred, Submitted::NoKey)
            }
            NotBuilt::Payload(_) | NotBuilt::Build(_) => {
                tracing::warn!(%submission, %error, "no envelope was built");
                (Event::ClaimLapsed, Submitted::NotBuilt)
            }
        };
        let change = Change {
            last_error: Some(error.to_string()),
            ..Change::new(&claim.submission, event, "worker")
        };
        step!("submit.give_back", self.ledger.apply(change).await)?;
        Ok(became)
    }
}

#[cfg(test)]
#[path = "submit_tests.rs"]
mod tests;
