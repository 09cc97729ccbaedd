//! The roles of the stack, put together over the same parts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::app::{self, StartError};
use crate::config::EmbeddedConfig;
use crate::flow::chain::Chain;
use crate::flow::feed::Feed;
use crate::flow::memory::Watch;
use crate::flow::reconcile::Reconciler;
use crate::flow::relay::Relay;
use crate::flow::send::{SendDelays, Sender};
use crate::flow::submit::Submitter;
use crate::http::{Parts, Probed};
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::role::loops::Loops;
use crate::role::pulse::Jobs;
use crate::role::readiness::{self, Needs};
use crate::role::{api, feed, probes, reconciler, relay, worker};
use crate::stellar::keyring::{Identity, KeyRing};
use crate::stellar::network::NetworkId;
use crate::stellar::rpc::Rpc;
use crate::stellar::signer::Signer;

/// What the roles stand on.
pub(super) struct Ground<'a> {
    pub(super) config: &'a EmbeddedConfig,
    pub(super) close: Duration,
    pub(super) network: NetworkId,
    pub(super) ledger: Ledger,
    pub(super) rpc: Rpc,
    pub(super) chain: Arc<Chain>,
    pub(super) metrics: Arc<Metrics>,
}

/// Starts API, worker, reconciler and feed; returns where the API listens.
pub(super) async fn start(
    ground: Ground<'_>,
    treasury: Signer,
    channels: Vec<Signer>,
    bind: SocketAddr,
    loops: &mut Loops,
) -> Result<String, StartError> {
    let (queue, nudge, jobs) = (Queue::memory(), Arc::new(Notify::new()), Jobs::default());
    let sender = Arc::new(ground.sender());
    let reconciler = ground.reconciler(Arc::clone(&sender), treasury.clone());
    let identity = ground.identity(&treasury);
    let balances = vec![
        ("fee_source", treasury.account()),
        ("treasury", treasury.account()),
    ];
    let submitter = ground.submitter(sender, treasury, channels)?;
    let watch = Watch::new(
        ground.ledger.clone(),
        queue.clone(),
        ground.rpc.clone(),
        identity,
    );
    let mut parts = ground.api(&queue, Arc::clone(&nudge), &jobs, loops);
    parts.probed.balances = balances;
    let (listener, url) = probes::listen("API", bind).await?;
    api::serve(parts, listener, loops);
    let concurrency = ground.config.queue.concurrency as usize;
    let feeding = app::feed_settings(&ground.config.queue);
    let feeding = Feed::new(ground.ledger.clone(), queue.clone(), feeding);
    let stop = loops.stop_token();
    // Lanes in memory wake a worker only when there is something to do, so it may lie still.
    let working = worker::work(queue, watch, submitter, concurrency, jobs, stop);
    loops.serve("worker", working);
    reconciler::start(reconciler, Arc::clone(&nudge), loops);
    relay(ground.relay(Arc::clone(&nudge)), loops);
    feed(feeding, nudge, loops);
    Ok(url)
}

impl Ground<'_> {
    fn sender(&self) -> Sender {
        Sender::new(
            self.ledger.clone(),
            self.rpc.clone(),
            Arc::clone(&self.chain),
            SendDelays::new(self.close, super::RPC_TIMEOUT),
        )
        .counted_by(Arc::clone(&self.metrics))
    }

    fn identity(&self, treasury: &Signer) -> Identity {
        Identity {
            network: self.network.clone(),
            treasury: treasury.account(),
        }
    }

    fn submitter(
        &self,
        sender: Arc<Sender>,
        treasury: Signer,
        channels: Vec<Signer>,
    ) -> Result<Submitter, StartError> {
        let (identity, account) = (self.identity(&treasury), treasury.account());
        Ok(Submitter::new(
            self.ledger.clone(),
            sender,
            identity,
            KeyRing::new(treasury, account, channels)?,
            Arc::clone(&self.chain),
            app::submit_settings(&self.config.submit, &self.config.fees),
        ))
    }

    fn reconciler(&self, sender: Arc<Sender>, treasury: Signer) -> Reconciler {
        Reconciler::new(
            self.ledger.clone(),
            sender,
            self.identity(&treasury),
            treasury,
            Arc::clone(&self.chain),
            app::reconcile_settings(&self.config.submit, &self.config.fees, self.close),
        )
        .counted_by(Arc::clone(&self.metrics))
    }

    fn relay(&self, nudge: Arc<Notify>) -> Relay {
        let metrics = Arc::clone(&self.metrics);
        Relay::new(
            self.ledger.clone(),
            metrics,
            nudge,
            self.config.relay.interval,
        )
    }

    fn api(&self, queue: &Queue, nudge: Arc<Notify>, jobs: &Jobs, loops: &Loops) -> Parts {
        let readiness = readiness::of(Needs {
            ledger: self.ledger.clone(),
            queue: Some(queue.clone()),
            rpc: Some(self.rpc.clone()),
            close: self.close,
            reconciler: true,
        });
        Parts {
            ledger: self.ledger.clone(),
            nudge,
            probed: Probed {
                liveness: jobs.watched_by(loops.liveness()),
                readiness,
                metrics: Arc::clone(&self.metrics),
                rpc: Some(self.rpc.clone()),
                balances: Vec::new(),
                ledger: Some(self.ledger.clone()),
            },
            settings: api::settings(&self.config.http, &self.config.fees),
        }
    }
}
