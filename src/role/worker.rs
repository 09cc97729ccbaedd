//! Worker: takes jobs from the lanes and submits them.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::loops::Loops;
use super::pulse::Jobs;
use super::readiness::{self, Needs};
use super::{counted, probes};
use crate::app::{self, StartError};
use crate::config::WorkerConfig;
use crate::domain::ids::SubmissionId;
use crate::flow::chain::Chain;
use crate::flow::feed::Feed;
use crate::flow::memory::Watch;
use crate::flow::relay::Relay;
use crate::flow::send::{SendDelays, Sender};
use crate::flow::submit::{Submitted, Submitter};
use crate::http::Probed;
use crate::ledger::LedgerError;
use crate::metrics::Metrics;
use crate::queue::{Job, Queue};
use crate::stellar::keyring::Identity;
use crate::stellar::network::NetworkId;

/// Runs a worker process.
///
/// # Errors
/// It could not start, or a part of it ended unasked.
pub async fn run(config: &WorkerConfig, shutdown: CancellationToken) -> Result<(), StartError> {
    let close = config.network.ledger_close;
    let network = NetworkId::new(&config.network.passphrase);
    let keys = app::keyring(&config.signers)?;
    let metrics = Arc::new(Metrics::new()?);
    let rules = app::worker_rules(&config.submit, &config.signers, close);
    let ledger = app::ledger(&config.database, rules).await?;
    let ledger = counted(ledger, &metrics);
    let queue = app::queue(&config.redis).await?;
    let rpc = app::rpc(&config.rpc, &network)?;
    let (mut loops, jobs) = (Loops::new(&shutdown), Jobs::default());
    let probed = Probed {
        liveness: jobs.watched_by(loops.liveness()),
        readiness: readiness::of(Needs {
            ledger: ledger.clone(),
            queue: Some(queue.clone()),
            rpc: Some(rpc.clone()),
            close,
            reconciler: false,
        }),
        metrics: Arc::clone(&metrics),
        rpc: Some(rpc.clone()),
        balances: Vec::new(),
        ledger: None,
    };
    probes::serve(config.probes, probed, &mut loops).await?;
    app::confirm_network(&rpc, &network, &shutdown).await?;
    let chain = Arc::new(Chain::default());
    let delays = SendDelays::new(close, config.rpc.send_timeout);
    let (parts, network_parts) = ((&ledger, &queue), (&rpc, &chain));
    let allocator = app::allocator(&config.signers, &keys, parts, network_parts);
    let sender = Sender::new(ledger.clone(), rpc, Arc::clone(&chain), delays)
        .counted_by(Arc::clone(&metrics));
    let identity = Identity {
        network,
        treasury: keys.treasury().account(),
    };
    let watch = Watch::new(
        ledger.clone(),
        queue.clone(),
        sender.rpc().clone(),
        identity.clone(),
    );
    let settings = app::submit_settings(&config.submit, &config.fees);
    let sender = Arc::new(sender);
    let submitter = Submitter::new(ledger.clone(), sender, identity, keys, chain, settings);
    let submitter = match allocator {
        Some(allocator) => submitter.serialized_by(allocator),
        None => submitter,
    };
    let nudge = Arc::new(Notify::new());
    let period = config.relay.interval;
    let relay = Relay::new(ledger.clone(), metrics, Arc::clone(&nudge), period);
    let feed = Feed::new(ledger, queue.clone(), app::feed_settings(&config.queue));
    let concurrency = config.queue.concurrency as usize;
    tracing::info!(concurrency, "worker is ready");
    let stop = loops.stop_token();
    loops.cycle(
        "worker",
        work(queue, watch, submitter, concurrency, jobs, stop),
    );
    super::feed(feed, nudge, &mut loops);
    super::relay(relay, &mut loops);
    loops.run().await
}

/// Submits what the queue hands out, until shutdown.
///
/// # Errors
/// The queue's worker ended although nobody asked it to.
pub(super) async fn work(
    queue: Queue,
    watch: Watch,
    submitter: Submitter,
    concurrency: usize,
    jobs: Jobs,
    shutdown: CancellationToken,
) -> Result<(), StartError> {
    watch.first_look(&shutdown).await;
    let submitter = Arc::new(submitter);
    let handler = move |job: Job| {
        let (submitter, jobs) = (Arc::clone(&submitter), jobs.clone());
        async move {
            let _runs = jobs.begin();
            submit(&submitter, job.submission).await;
        }
    };
    Ok(queue.work(concurrency, handler, shutdown).await?)
}

/// A job always ends well: what is left to do stands in the ledger.
async fn submit(submitter: &Submitter, id: SubmissionId) {
    match submitter.submit(id).await {
        Ok(
            Submitted::Sent
            | Submitted::Recorded
            | Submitted::NotDue
            | Submitted::NoChannel
            | Submitted::NotBuilt
            | Submitted::NoChainTime
            | Submitted::Recovered
            | Submitted::NoKey,
        ) => {}
        Ok(Submitted::ClaimLost) => {
            tracing::warn!(submission = %id, "a claim was lost before its envelope was recorded");
        }
        Err(error) => did_not_follow(id, &error),
    }
}

fn did_not_follow(id: SubmissionId, error: &LedgerError) {
    // Told once, by whoever looks at the ledger's memory.
    if matches!(error, LedgerError::MemoryLost(_)) {
        tracing::debug!(submission = %id, %error, "left alone");
        return;
    }
    tracing::warn!(submission = %id, %error, "the ledger did not follow; the reconciler goes on from it");
}
