//! What a process needs, and whether it is there.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::http::{Check, Readiness};
use crate::ledger::Ledger;
use crate::queue::Queue;
use crate::stellar::rpc::Rpc;

/// Longest that one thing may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Looks at the ledger, and at the queue and the network where this process uses them.
#[must_use]
pub fn of(ledger: Ledger, queue: Option<Queue>, rpc: Option<Rpc>) -> Readiness {
    Arc::new(move || {
        let (ledger, queue, rpc) = (ledger.clone(), queue.clone(), rpc.clone());
        Box::pin(async move {
            let mut checks = vec![check(
                "ledger",
                timeout(PATIENCE, ledger.ping())
                    .await
                    .is_ok_and(|ping| ping.is_ok()),
            )];
            if let Some(queue) = queue {
                checks.push(check(
                    "queue",
                    timeout(PATIENCE, queue.ping())
                        .await
                        .is_ok_and(|ping| ping.is_ok()),
                ));
            }
            if let Some(rpc) = rpc {
                checks.push(network(&rpc).await);
            }
            checks
        })
    })
}

fn check(name: &'static str, ready: bool) -> Check {
    let detail = if ready { "answers" } else { "does not answer" };
    Check {
        name,
        ready,
        detail: detail.to_owned(),
    }
}

async fn network(rpc: &Rpc) -> Check {
    match timeout(PATIENCE, rpc.latest()).await {
        Ok(Ok(seen)) => Check {
            name: "network",
            ready: true,
            detail: format!("at ledger {}, closed at {}", seen.ledger, seen.close_time),
        },
        Ok(Err(_)) | Err(_) => check("network", false),
    }
}
