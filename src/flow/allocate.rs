//! Allocate: the sequences of one account, handed out one by one to submissions that share it.
//!
//! Three know something of them. The ledger knows which are held and which are used by evidence: it alone lets a
//! submission hold one. The queue's server hands numbers out, so that claimants do not all ask for the same one. The chain
//! is asked when that server has forgotten what it handed out, and shows whether the account moved without us.
//!
//! A sequence that was given back while later ones are held is a gap: nothing behind it can be applied. The next claim
//! takes it, so a gap is filled by a payment. None is burnt with a transaction of its own: that would need a record, an
//! owner and a ledger as well, and where nobody claims, the one waiting behind the gap dies and starts over.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::chain::Chain;
use super::fresh;
use crate::domain::ids::{AccountId, SubmissionId};
use crate::domain::sequence::{Allocation, DEPTH, Sequences};
use crate::ledger::{ClaimOutcome, Ledger, LedgerError, Serialized};
use crate::queue::{Draw, Queue};
use crate::stellar::rpc::Rpc;

/// Proposals before a claimant leaves the row to a later round. Each refusal means that somebody else went ahead.
const PROPOSALS: usize = 4;
/// Longest wait for the chain's word on the account: the ledger's is enough to go on safely.
const CHAIN_PATIENCE: Duration = Duration::from_secs(3);

/// Claims rows with sequences of one account.
pub struct Allocator {
    ledger: Ledger,
    queue: Queue,
    rpc: Rpc,
    chain: Arc<Chain>,
    account: AccountId,
    depth: u32,
}

impl Allocator {
    /// An allocator for that account, which the service alone uses.
    #[must_use]
    pub fn new(
        ledger: Ledger,
        queue: Queue,
        rpc: Rpc,
        chain: Arc<Chain>,
        account: AccountId,
    ) -> Self {
        Self {
            ledger,
            queue,
            rpc,
            chain,
            account,
            depth: DEPTH,
        }
    }

    /// The same allocator, handing out that many sequences at a time.
    #[must_use]
    pub fn with_depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }

    /// Claims a row; says also whether its sequence is the account's next.
    ///
    /// # Errors
    /// The ledger did not answer. A claim that was made although its answer was lost lapses.
    pub async fn claim(&self, id: SubmissionId) -> Result<(ClaimOutcome, bool), LedgerError> {
        for _ in 0..PROPOSALS {
            let proposed = self.propose().await?;
            match self.claim_with(id, proposed).await? {
                Serialized::Claimed { claim, turn } => {
                    return Ok((ClaimOutcome::Claimed(claim), turn));
                }
                Serialized::Paid(row, paid) => {
                    return Ok((ClaimOutcome::Paid(row, paid), false));
                }
                Serialized::NotDue => return Ok((ClaimOutcome::NotDue, false)),
                Serialized::NoChannel => return Ok((ClaimOutcome::NoChannel, false)),
                Serialized::Refused(refusal) => {
                    tracing::debug!(submission = %id, ?proposed, ?refusal, "a sequence was refused");
                }
            }
        }
        // Marks the row as free to be dispatched again.
        match self.claim_with(id, None).await? {
            Serialized::Claimed { claim, turn } => Ok((ClaimOutcome::Claimed(claim), turn)),
            Serialized::Paid(row, paid) => Ok((ClaimOutcome::Paid(row, paid), false)),
            Serialized::NotDue => Ok((ClaimOutcome::NotDue, false)),
            Serialized::NoChannel | Serialized::Refused(_) => Ok((ClaimOutcome::NoChannel, false)),
        }
    }

    async fn claim_with(
        &self,
        id: SubmissionId,
        proposed: Option<i64>,
    ) -> Result<Serialized, LedgerError> {
        self.ledger
            .claim_sequence(id, self.account, proposed, self.depth)
            .await
    }

    /// The sequence to claim with, if one can be had now.
    async fn propose(&self) -> Result<Option<i64>, LedgerError> {
        let Some(sequences) = self.ledger.sequences(self.account).await? else {
            tracing::error!(account = %self.account, "not in the pool: run `tender channels provision`");
            return Ok(None);
        };
        Ok(match sequences.allocate(self.depth) {
            Allocation::Full => None,
            Allocation::Gap(sequence) => {
                tracing::info!(account = %self.account, sequence, "a gap is filled");
                Some(sequence)
            }
            Allocation::Fresh { after, last } => Some(self.draw(after, last).await?),
        })
    }

    /// The next number from the queue's server, or from the ledger where that server is away, has forgotten or is wrong.
    async fn draw(&self, after: i64, last: i64) -> Result<i64, LedgerError> {
        let draw = Draw {
            account: self.account,
            after,
            last,
            anew: false,
        };
        let by_ledger = after.saturating_add(1);
        let drawn = match self.queue.draw(draw).await {
            Ok(drawn) => drawn,
            Err(error) => {
                tracing::warn!(%error, "a sequence is taken from the ledger alone");
                return Ok(by_ledger);
            }
        };
        if !drawn.remembered {
            let passed = self.passed_by_chain().await?;
            return Ok(passed.or(drawn.sequence).unwrap_or(by_ledger));
        }
        Ok(match drawn.sequence {
            Some(sequence) => sequence,
            None => self.draw_anew(draw).await.unwrap_or(by_ledger),
        })
    }

    /// More was handed out than the ledger can know of: claimants that are under way or died, or a server that is wrong.
    async fn draw_anew(&self, draw: Draw) -> Option<i64> {
        let drawn = self.queue.draw(Draw { anew: true, ..draw }).await;
        drawn.ok().and_then(|drawn| drawn.sequence)
    }

    /// The lowest sequence that the chain has gone past though no submission holds it, if there is one. Whoever claims it
    /// finds out by whom it was used.
    async fn passed_by_chain(&self) -> Result<Option<i64>, LedgerError> {
        let accounts = [self.account];
        let asked = fresh::accounts(&self.rpc, &self.chain, &accounts);
        let states = match timeout(CHAIN_PATIENCE, asked).await {
            Ok(Ok(states)) => states,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the account is not compared with the chain");
                return Ok(None);
            }
            Err(_) => return Ok(None),
        };
        let chain = states.first().and_then(|(_, state)| state.sequence());
        // Read after the chain: whatever of ours it has applied was recorded before.
        let Some(sequences) = self.ledger.sequences(self.account).await? else {
            return Ok(None);
        };
        let known = Sequences { chain, ..sequences };
        Ok(match known.allocate(self.depth) {
            Allocation::Gap(sequence) => {
                tracing::error!(account = %self.account, sequence, ?chain, "the account was used by somebody unknown: staff must look at this");
                Some(sequence)
            }
            Allocation::Fresh { .. } | Allocation::Full => None,
        })
    }
}
