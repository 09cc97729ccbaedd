//! Reconciler: converges the ledger to the chain.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::within_grace;
use crate::app::{self, StartError};
use crate::config::ReconcilerConfig;
use crate::flow::chain::Chain;
use crate::flow::feed::Feed;
use crate::flow::reconcile::Reconciler;
use crate::flow::send::{SendDelays, Sender};
use crate::stellar::keyring::Identity;
use crate::stellar::network::NetworkId;

/// Runs a reconciler process.
///
/// # Errors
/// It could not start.
pub async fn run(config: &ReconcilerConfig, shutdown: CancellationToken) -> Result<(), StartError> {
    let close = config.network.ledger_close;
    let network = NetworkId::new(&config.network.passphrase);
    let fee_source = app::signer(&config.fee_source)?;
    let treasury = app::treasury(&config.treasury)?;
    let ledger = app::ledger(&config.database, app::rules(&config.submit, close)).await?;
    let queue = app::queue(&config.redis).await?;
    let rpc = app::rpc(&config.rpc, &network)?;
    app::confirm_network(&rpc, &network, &shutdown).await?;
    let chain = Arc::new(Chain::default());
    let sender = Arc::new(Sender::new(
        ledger.clone(),
        rpc,
        Arc::clone(&chain),
        SendDelays::new(close, config.rpc.send_timeout),
    ));
    let settings = app::reconcile_settings(&config.submit, &config.fees, close);
    let identity = Identity { network, treasury };
    let reconciler = Reconciler::new(
        ledger.clone(),
        sender,
        identity,
        fee_source,
        chain,
        settings,
    );
    let feed = Feed::new(ledger, queue, app::feed_settings(&config.queue));
    tracing::info!("reconciler is ready");
    let freed = Notify::new();
    let working = futures::future::join(
        reconciler.run(&freed, &shutdown),
        feed.run(&freed, &shutdown),
    );
    within_grace(&shutdown, Box::pin(working)).await;
    Ok(())
}
