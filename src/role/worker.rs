//! Worker: takes jobs from the lanes and submits them.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::within_grace;
use crate::app::{self, StartError};
use crate::config::WorkerConfig;
use crate::domain::ids::SubmissionId;
use crate::flow::chain::Chain;
use crate::flow::feed::Feed;
use crate::flow::send::{SendDelays, Sender};
use crate::flow::submit::{Submitted, Submitter};
use crate::queue::{Job, Queue, QueueError};
use crate::stellar::keyring::Identity;
use crate::stellar::network::NetworkId;

/// Runs a worker process.
///
/// # Errors
/// It could not start.
pub async fn run(config: &WorkerConfig, shutdown: CancellationToken) -> Result<(), StartError> {
    let close = config.network.ledger_close;
    let network = NetworkId::new(&config.network.passphrase);
    let keys = app::keyring(&config.signers)?;
    let ledger = app::ledger(&config.database, app::rules(&config.submit, close)).await?;
    let queue = app::queue(&config.redis).await?;
    let rpc = app::rpc(&config.rpc, &network)?;
    app::confirm_network(&rpc, &network, &shutdown).await?;
    let chain = Arc::new(Chain::default());
    let delays = SendDelays::new(close, config.rpc.send_timeout);
    let sender = Arc::new(Sender::new(ledger.clone(), rpc, Arc::clone(&chain), delays));
    let identity = Identity {
        network,
        treasury: keys.treasury().account(),
    };
    let settings = app::submit_settings(&config.submit, &config.fees);
    let submitter = Submitter::new(ledger.clone(), sender, identity, keys, chain, settings);
    let feed = Feed::new(ledger, queue.clone(), app::feed_settings(&config.queue));
    tracing::info!(concurrency = config.queue.concurrency, "worker is ready");
    let nudge = Notify::new();
    let concurrency = config.queue.concurrency as usize;
    let working = futures::future::join(
        work(&queue, submitter, concurrency, &shutdown),
        feed.run(&nudge, &shutdown),
    );
    match within_grace(&shutdown, Box::pin(working)).await {
        Some((worked, ())) => Ok(worked?),
        None => Ok(()),
    }
}

/// Submits what the queue hands out, until shutdown.
///
/// # Errors
/// The queue's worker ended although nobody asked it to.
pub async fn work(
    queue: &Queue,
    submitter: Submitter,
    concurrency: usize,
    shutdown: &CancellationToken,
) -> Result<(), QueueError> {
    let submitter = Arc::new(submitter);
    let handler = move |job: Job| {
        let submitter = Arc::clone(&submitter);
        async move { submit(&submitter, job.submission).await }
    };
    queue.work(concurrency, handler, shutdown.clone()).await
}

/// A job always ends well: what is left to do stands in the ledger.
async fn submit(submitter: &Submitter, id: SubmissionId) {
    match submitter.submit(id).await {
        Ok(
            Submitted::Sent
            | Submitted::NotDue
            | Submitted::NoChannel
            | Submitted::NotBuilt
            | Submitted::NoChainTime
            | Submitted::NoKey,
        ) => {}
        Ok(Submitted::ClaimLost) => {
            tracing::warn!(submission = %id, "a claim was lost before its envelope was recorded");
        }
        Err(error) => {
            tracing::warn!(submission = %id, %error, "the ledger did not follow; the reconciler goes on from it");
        }
    }
}
