//! Reads the chain itself: which keys took effect, in which ledgers, and when those closed.

use std::collections::BTreeMap;
use std::time::Duration;

use tender_devnet::node::DevNode;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::report::ChainEffect;
use crate::domain::classify::Fault;
use crate::stellar::rpc::Rpc;

/// Successful transactions that carry a key's tag, from a ledger on.
pub(super) async fn effects(rpc: &Rpc, from_ledger: u32) -> Result<Vec<ChainEffect>, Fault> {
    let transactions = rpc.transactions_from(from_ledger).await?;
    let effects = transactions.into_iter().filter(|consumed| consumed.success);
    let tagged = effects.filter_map(|consumed| {
        let tag = consumed.inspected.tag?;
        Some(ChainEffect {
            tag,
            ledger: consumed.ledger,
        })
    });
    Ok(tagged.collect())
}

/// A watch over the closing of ledgers. It ends when it is dropped.
pub(super) struct Closes {
    task: AbortOnDropHandle<BTreeMap<u32, Duration>>,
    stop: CancellationToken,
}

/// Notes when each ledger closes, after `started`.
pub(super) fn watch_closes(node: &DevNode, started: Instant) -> Closes {
    let stop = CancellationToken::new();
    let (mut closed, stopped) = (node.latest(), stop.clone());
    let task = tokio::spawn(async move {
        let mut closes = BTreeMap::new();
        loop {
            tokio::select! {
                () = stopped.cancelled() => return closes,
                changed = closed.changed() => {
                    if changed.is_err() {
                        return closes;
                    }
                    closes.insert(closed.borrow_and_update().sequence, started.elapsed());
                }
            }
        }
    });
    Closes {
        task: AbortOnDropHandle::new(task),
        stop,
    }
}

impl Closes {
    /// Ends the watch.
    pub(super) async fn stop(self) -> BTreeMap<u32, Duration> {
        self.stop.cancel();
        self.task.await.unwrap_or_default()
    }
}
