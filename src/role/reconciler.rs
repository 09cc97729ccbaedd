//! Reconciler: converges the ledger to the chain.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::loops::Loops;
use super::readiness::{self, Needs};
use super::{counted, probes};
use crate::app::{self, StartError};
use crate::config::ReconcilerConfig;
use crate::flow::chain::Chain;
use crate::flow::feed::Feed;
use crate::flow::reconcile::Reconciler;
use crate::flow::send::{SendDelays, Sender};
use crate::http::Probed;
use crate::metrics::Metrics;
use crate::stellar::keyring::Identity;
use crate::stellar::network::NetworkId;

/// Runs a reconciler process.
///
/// # Errors
/// It could not start, or a part of it ended unasked.
pub async fn run(config: &ReconcilerConfig, shutdown: CancellationToken) -> Result<(), StartError> {
    let close = config.network.ledger_close;
    let network = NetworkId::new(&config.network.passphrase);
    let fee_source = app::signer(&config.fee_source)?;
    let treasury = app::treasury(&config.treasury)?;
    let metrics = Arc::new(Metrics::new()?);
    let ledger = app::ledger(&config.database, app::rules(&config.submit, close)).await?;
    let ledger = counted(ledger, &metrics);
    let queue = app::queue(&config.redis).await?;
    let rpc = app::rpc(&config.rpc, &network)?;
    let mut loops = Loops::new(&shutdown);
    let probed = Probed {
        liveness: loops.liveness(),
        readiness: readiness::of(Needs {
            ledger: ledger.clone(),
            queue: Some(queue.clone()),
            rpc: Some(rpc.clone()),
            close,
            reconciler: true,
        }),
        metrics: Arc::clone(&metrics),
        rpc: Some(rpc.clone()),
        balances: vec![("fee_source", fee_source.account()), ("treasury", treasury)],
        ledger: None,
    };
    probes::serve(config.probes, probed, &mut loops).await?;
    app::confirm_network(&rpc, &network, &shutdown).await?;
    let chain = Arc::new(Chain::default());
    let delays = SendDelays::new(close, config.rpc.send_timeout);
    let sender = Sender::new(ledger.clone(), rpc, Arc::clone(&chain), delays)
        .counted_by(Arc::clone(&metrics));
    let settings = app::reconcile_settings(&config.submit, &config.fees, close);
    let identity = Identity { network, treasury };
    let reconciler = Reconciler::new(
        ledger.clone(),
        Arc::new(sender),
        identity,
        fee_source,
        chain,
        settings,
    )
    .counted_by(metrics);
    let feed = Feed::new(ledger, queue, app::feed_settings(&config.queue));
    tracing::info!("reconciler is ready");
    let freed = Arc::new(Notify::new());
    start(reconciler, Arc::clone(&freed), &mut loops);
    super::feed(feed, freed, &mut loops);
    loops.run().await
}

/// Starts a reconciler as one of the parts of a process; it nudges when capacity came free.
pub(super) fn start(reconciler: Reconciler, freed: Arc<Notify>, loops: &mut Loops) {
    let stop = loops.stop_token();
    loops.cycle("reconciler", async move {
        reconciler.run(&freed, &stop).await;
        Ok(())
    });
}
