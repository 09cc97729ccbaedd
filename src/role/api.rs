//! API: takes payments in and tells their status. Holds no signing key.

use std::num::NonZeroU32;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::loops::Loops;
use super::readiness::{self, Needs};
use super::{counted, probes};
use crate::app::{self, StartError};
use crate::config::{self, ApiConfig, Cors};
use crate::flow::feed::Feed;
use crate::http::{self, Parts, Probed, Settings};
use crate::metrics::Metrics;
use crate::stellar::network::NetworkId;

/// Requests a key may make at once after a pause, in seconds of its rate.
const BURST_SECONDS: u32 = 2;

/// Runs an API process.
///
/// # Errors
/// It could not start, or a part of it ended unasked.
pub async fn run(config: &ApiConfig, shutdown: CancellationToken) -> Result<(), StartError> {
    let metrics = Arc::new(Metrics::new()?);
    let ledger = app::ledger(&config.database, app::staff_rules()).await?;
    let ledger = counted(ledger, &metrics);
    let queue = match &config.redis {
        Some(redis) => Some(app::queue(redis).await?),
        None => None,
    };
    // Only asked whether it answers, so its name does not matter here.
    let rpc = config
        .rpc
        .as_ref()
        .map(|rpc| app::rpc(rpc, &NetworkId::new("")))
        .transpose()?;
    let (mut loops, nudge) = (Loops::new(&shutdown), Arc::new(Notify::new()));
    let parts = Parts {
        ledger: ledger.clone(),
        nudge: Arc::clone(&nudge),
        probed: Probed {
            liveness: loops.liveness(),
            readiness: readiness::of(Needs {
                ledger: ledger.clone(),
                queue: queue.clone(),
                rpc: rpc.clone(),
                close: config.ledger_close,
                reconciler: true,
            }),
            metrics,
            rpc,
            balances: Vec::new(),
            ledger: Some(ledger.clone()),
        },
        settings: settings(&config.http, &config.fees),
    };
    let (listener, _) = probes::listen("API", config.http.bind).await?;
    serve(parts, listener, &mut loops);
    if let Some(queue) = queue {
        let feed = Feed::new(ledger, queue, app::feed_settings(&config.queue));
        super::feed(feed, nudge, &mut loops);
    }
    loops.run().await
}

/// Serves the API as one of the parts of a process.
pub(super) fn serve(parts: Parts, listener: TcpListener, loops: &mut Loops) {
    let stop = loops.stop_token();
    loops.serve("api", async move {
        let served = http::serve(parts, listener, stop).await;
        served.map_err(|error| StartError::io("HTTP", error))
    });
}

/// What the HTTP service is told.
#[must_use]
pub fn settings(http: &config::Http, fees: &config::Fees) -> Settings {
    let rate = NonZeroU32::new(http.rate_limit).unwrap_or(NonZeroU32::MIN);
    Settings {
        base_fee: fees.default_base_fee,
        requests_per_second: rate,
        burst: rate.saturating_mul(NonZeroU32::MIN.saturating_add(BURST_SECONDS - 1)),
        cors_origins: match &http.cors {
            Cors::SameOrigin => Vec::new(),
            Cors::Any => vec!["*".to_owned()],
            Cors::Origins(origins) => origins.clone(),
        },
        body_limit: http.body_limit,
        ..Settings::default()
    }
}
