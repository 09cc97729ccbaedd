//! One account that all submissions share, in some runs.

use std::sync::Arc;

use tender::domain::ids::{AccountId, SubmissionId};
use tender::domain::sequence::{Allocation, DEPTH};
use tender::flow::allocate::Allocator;
use tender::flow::chain::Chain;
use tender::ledger::{Ledger, LedgerError};
use tender::queue::Queue;
use tender::stellar::rpc::Rpc;

use crate::chance::Chance;
use crate::net::channel;

/// Of a thousand runs so many share one account. What else a seed means does not depend on it.
const SHARE: u64 = 250;

pub struct Shared {
    account: AccountId,
    /// Where workers agree on what was handed out. Without it each remembers its own, until it crashes.
    queue: Option<Queue>,
}

impl Shared {
    pub fn any(seed: u64) -> Option<Self> {
        let mut chance = Chance::about(seed, 0, "shared");
        chance.permille(SHARE).then(|| Self {
            account: channel(0).account(),
            queue: chance.permille(500).then(Queue::memory),
        })
    }

    pub fn allocator(&self, ledger: &Ledger, rpc: &Rpc, chain: &Arc<Chain>) -> Allocator {
        let queue = self.queue.clone().unwrap_or_else(Queue::memory);
        let (ledger, rpc, chain) = (ledger.clone(), rpc.clone(), Arc::clone(chain));
        Allocator::new(ledger, queue, rpc, chain, self.account)
    }

    /// Claims a row with what comes next, whatever was handed out.
    pub async fn claim(&self, ledger: &Ledger, id: SubmissionId) -> Result<(), LedgerError> {
        let sequences = ledger.sequences(self.account).await?.unwrap();
        let proposed = match sequences.allocate(DEPTH) {
            Allocation::Gap(sequence) => Some(sequence),
            Allocation::Fresh { after, .. } => Some(after + 1),
            Allocation::Full => None,
        };
        let claimed = ledger.claim_sequence(id, self.account, proposed, DEPTH);
        claimed.await.map(drop)
    }
}
