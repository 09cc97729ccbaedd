//! Accounts as they are now, not as a node that lags remembers them: their sequence numbers enter the pool.

use std::time::Duration;

use futures::future::join_all;

use super::chain::Chain;
use crate::domain::classify::Fault;
use crate::domain::ids::AccountId;
use crate::domain::plan::AccountState;
use crate::stellar::rpc::Rpc;

/// Looks before giving up, and the pause between two: nodes differ by a ledger for a moment whenever one closes.
const LOOKS: usize = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// Why there is no fresh state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFresh {
    /// No node answered.
    #[error("the network did not answer: {}", .0.code())]
    Network(Fault),
    /// Nodes answer from behind the highest ledger that one of them, or an earlier answer, has shown.
    #[error("the RPC nodes lag behind ledger {0}, which one of them has shown: try again")]
    Lagging(u32),
}

/// States of accounts at or after the highest ledger that any node shows when asked now, and any answer has shown before.
///
/// # Errors
/// See [`NotFresh`].
pub async fn accounts(
    rpc: &Rpc,
    chain: &Chain,
    accounts: &[AccountId],
) -> Result<Vec<(AccountId, AccountState)>, NotFresh> {
    let mut found = look(rpc, chain, accounts).await;
    for _ in 1..LOOKS {
        if !matches!(found, Err(NotFresh::Lagging(_))) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        found = look(rpc, chain, accounts).await;
    }
    found
}

async fn look(
    rpc: &Rpc,
    chain: &Chain,
    accounts: &[AccountId],
) -> Result<Vec<(AccountId, AccountState)>, NotFresh> {
    let nodes = rpc.each_node();
    let mut fault = Fault::Connect;
    let mut up = Vec::new();
    for (node, latest) in nodes
        .iter()
        .zip(join_all(nodes.iter().map(Rpc::latest)).await)
    {
        match latest {
            Ok(seen) => {
                chain.observe(seen);
                up.push(node);
            }
            Err(no_answer) => fault = no_answer,
        }
    }
    let Some(highest) = chain.latest().filter(|_| !up.is_empty()) else {
        return Err(NotFresh::Network(fault));
    };
    let mut lags = false;
    for node in up {
        match node.accounts(accounts).await {
            Ok(pages) if pages.iter().all(|page| page.ledger >= highest.ledger) => {
                return Ok(pages.into_iter().flat_map(|page| page.accounts).collect());
            }
            Ok(_) => lags = true,
            Err(no_answer) => fault = no_answer,
        }
    }
    Err(if lags {
        NotFresh::Lagging(highest.ledger)
    } else {
        NotFresh::Network(fault)
    })
}
