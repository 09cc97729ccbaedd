//! Noticing that the ledger was set back: by the database itself, by a mark kept beside it, or by the chain.
//!
//! Whoever notices stops all processes through the ledger, which lets no transition through from then on. What happens
//! next is [`super::recover`]'s.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::chain::Chain;
use super::recover::{Identify, LastUse, Sighted, SurveyError, Whose};
use crate::domain::ids::{AccountId, Pair, TxHash};
use crate::domain::plan::AccountState;
use crate::ledger::{ChannelState, Ledger, LedgerError, Memory};
use crate::queue::{Queue, QueueError};
use crate::stellar::keyring::Identity;
use crate::stellar::rpc::Rpc;

/// Pause before what could not be looked at is looked at again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Sequences of one account that are looked at: more of them are unknown if so many are.
const MOST_USED: usize = 10_000;

/// Why the ledger's memory could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum NoticeError {
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The queue did not answer.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The network did not tell.
    #[error(transparent)]
    Survey(#[from] SurveyError),
}

/// Tells of each stop once in a process.
#[derive(Debug, Default)]
pub struct Told(AtomicI64);

impl Told {
    fn tell(&self, memory: &Memory) {
        let Some(reason) = memory.refusal() else {
            return;
        };
        if self.0.swap(memory.mark.epoch, Ordering::Relaxed) != memory.mark.epoch {
            tracing::error!(
                %reason,
                state = memory.state.as_str(),
                "nothing is sent or decided: the ledger was set back, see `tender recover --status`"
            );
        }
    }
}

/// Holds the ledger against what anybody has seen of it before, and stops everything if it knows less.
///
/// # Errors
/// The ledger or the queue did not answer. A database that says itself that it is another one was stopped all the same.
pub async fn notice(ledger: &Ledger, queue: &Queue, told: &Told) -> Result<(), NoticeError> {
    let mut memory = ledger.memory().await?;
    if memory.doubt.is_none() {
        let highest = queue.reached(&memory.ledger_id, memory.mark).await?;
        if highest > memory.mark {
            // Others may only be ahead: the ledger is read once more, after the mark.
            ledger.memory_reached(highest);
            memory = ledger.memory().await?;
        }
    }
    if let Some(doubt) = &memory.doubt {
        stop(ledger, doubt).await?;
        memory = ledger.memory().await?;
    }
    told.tell(&memory);
    Ok(())
}

/// Stops everything, in every process.
///
/// # Errors
/// [`LedgerError`].
pub async fn stop(ledger: &Ledger, reason: &str) -> Result<(), LedgerError> {
    if step!("memory.stop", ledger.stop(reason).await)? {
        tracing::error!(
            reason,
            "the ledger was set back: nothing is sent or decided until its memory is recovered"
        );
    }
    Ok(())
}

/// Which accounts are compared with the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Those of which the chain has used a sequence that no submission holds.
    Free,
    /// Also those whose held sequence was used: whoever passes over leases sees them too, but a claim must not come first.
    Held,
}

/// Compares the pool with the chain, and stops everything if a sequence was used by a transaction that the ledger may have
/// forgotten. An account that somebody else has used is set aside.
///
/// # Errors
/// The ledger or the network did not answer.
pub async fn compare(parts: &Identify<'_>, depth: Depth) -> Result<(), NoticeError> {
    let pool = parts.ledger.channels().await?;
    let accounts: Vec<_> = pool.iter().map(|channel| channel.account).collect();
    if accounts.is_empty() {
        return Ok(());
    }
    let pages = parts
        .rpc
        .accounts(&accounts)
        .await
        .map_err(SurveyError::from)?;
    let states = pages.into_iter().flat_map(|page| page.accounts);
    let states: HashMap<_, _> = states.collect();
    // Read after the chain: whatever of ours it has applied was recorded before.
    for channel in parts.ledger.channels().await? {
        let Some(AccountState::Present {
            sequence,
            since_ledger,
        }) = states.get(&channel.account).copied()
        else {
            continue;
        };
        // Whoever set an account aside knows that somebody else has used it.
        if channel.state != ChannelState::Quarantined && sequence >= channel.next_sequence {
            judge(parts, channel.account, (sequence, since_ledger), depth).await?;
        }
    }
    Ok(())
}

/// An account that is further on the chain than the ledger knows by evidence.
async fn judge(
    parts: &Identify<'_>,
    account: AccountId,
    (seq_num, since_ledger): (i64, Option<u32>),
    depth: Depth,
) -> Result<(), NoticeError> {
    let Some(known) = parts.ledger.sequences(account).await? else {
        return Ok(());
    };
    let recovered = parts.ledger.recovered().await?;
    let recovered = recovered.iter().map(|it| it.pair);
    let recovered = recovered.filter(|it| it.account == account);
    let recovered: HashSet<_> = recovered.map(|it| it.sequence).collect();
    let mut unknown: BTreeSet<_> = (known.next..=seq_num)
        .take(MOST_USED)
        .filter(|sequence| !known.held.contains(sequence) && !recovered.contains(sequence))
        .collect();
    // Held and used is what every pair is that was in flight a moment ago.
    let told = depth == Depth::Free || recovered.contains(&seq_num);
    if unknown.is_empty() && told {
        return Ok(());
    }
    let pair = Pair {
        account,
        sequence: seq_num,
    };
    let last = since_ledger.map(|ledger| LastUse { pair, ledger });
    let sighted = match last {
        Some(last) => parts.sight(last).await?,
        None => Sighted::BeyondReach,
    };
    let forgotten = match (sighted, last) {
        (Sighted::Seen(Whose::Forgotten), _) => true,
        (Sighted::NotSeen, _) => return Err(SurveyError::NotTold.into()),
        (Sighted::Seen(Whose::Recorded | Whose::Foreign(_)), Some(last)) => {
            unknown.remove(&seq_num);
            parts.has_forgotten_any(last, &unknown).await?
        }
        (Sighted::BeyondReach, _) | (Sighted::Seen(_), None) => !unknown.is_empty(),
    };
    if forgotten {
        let reason = format!(
            "channel account {account} is at sequence {seq_num} on the network, further than the ledger knows of"
        );
        stop(parts.ledger, &reason).await?;
    } else if let Sighted::Seen(Whose::Foreign(hash)) = sighted {
        set_aside(parts.ledger, pair, hash).await?;
    }
    Ok(())
}

async fn set_aside(ledger: &Ledger, used: Pair, by: TxHash) -> Result<(), LedgerError> {
    let Pair { account, sequence } = used;
    let reason = format!("sequence {sequence} was used by {by}, which is not ours");
    if step!(
        "memory.set_aside",
        ledger.quarantine(account, &reason).await
    )? {
        tracing::error!(%account, reason, "a channel account was set aside: staff must look at this");
    }
    Ok(())
}

/// What a worker looks at before it claims anything.
pub struct Watch {
    ledger: Ledger,
    queue: Queue,
    rpc: Rpc,
    identity: Identity,
}

impl Watch {
    /// A watch over these parts.
    #[must_use]
    pub fn new(ledger: Ledger, queue: Queue, rpc: Rpc, identity: Identity) -> Self {
        Self {
            ledger,
            queue,
            rpc,
            identity,
        }
    }

    /// Holds the ledger against the mark and the chain, however long it takes until both answer. From then on the ledger
    /// itself lets nothing through that it should not.
    pub async fn first_look(&self, shutdown: &CancellationToken) {
        while !shutdown.is_cancelled() {
            match self.look().await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, "nothing is claimed before the ledger's memory was judged");
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(AGAIN_AFTER) => {}
            }
        }
    }

    async fn look(&self) -> Result<(), NoticeError> {
        notice(&self.ledger, &self.queue, &Told::default()).await?;
        let memory = self.ledger.memory().await?;
        if memory.refusal().is_some() {
            return Ok(());
        }
        let parts = Identify {
            ledger: &self.ledger,
            rpc: &self.rpc,
            identity: &self.identity,
        };
        compare(&parts, Depth::Held).await
    }
}

/// Has the highest ledger that any node shows taken note of.
pub(super) async fn ask_all(rpc: &Rpc, chain: &Arc<Chain>) -> Result<(), SurveyError> {
    let nodes = rpc.each_node();
    let mut fault = None;
    let mut any = false;
    for seen in futures::future::join_all(nodes.iter().map(Rpc::latest)).await {
        match seen {
            Ok(seen) => {
                chain.observe(seen);
                any = true;
            }
            Err(no_answer) => fault = Some(no_answer),
        }
    }
    match fault {
        Some(fault) if !any => Err(fault.into()),
        Some(_) | None => Ok(()),
    }
}
