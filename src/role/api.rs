//! API: takes payments in and tells their status. Holds no signing key.

use std::num::NonZeroU32;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{readiness, within_grace};
use crate::app::{self, StartError};
use crate::config::{self, ApiConfig, Cors};
use crate::flow::feed::Feed;
use crate::http::{self, Parts, Settings};
use crate::metrics::Metrics;
use crate::stellar::network::NetworkId;

/// Requests a key may make at once after a pause, in seconds of its rate.
const BURST_SECONDS: u32 = 2;

/// Runs an API process.
///
/// # Errors
/// It could not start, or its port failed.
pub async fn run(config: &ApiConfig, shutdown: CancellationToken) -> Result<(), StartError> {
    let ledger = app::ledger(&config.database, app::staff_rules()).await?;
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
    let nudge = Arc::new(Notify::new());
    let parts = Parts {
        ledger: ledger.clone(),
        nudge: Arc::clone(&nudge),
        readiness: readiness::of(ledger.clone(), queue.clone(), rpc),
        metrics: Arc::new(Metrics::new()?),
        settings: settings(&config.http, &config.fees),
    };
    let feed = queue.map(|queue| Feed::new(ledger, queue, app::feed_settings(&config.queue)));
    let listener = listen(&config.http).await?;
    let feeding = async {
        if let Some(feed) = feed {
            feed.run(&nudge, &shutdown).await;
        }
    };
    let serving = http::serve(parts, listener, shutdown.clone());
    match within_grace(&shutdown, Box::pin(futures::future::join(serving, feeding))).await {
        Some((Err(error), ())) => Err(StartError::Io {
            what: "HTTP".to_owned(),
            error,
        }),
        Some((Ok(()), ())) | None => Ok(()),
    }
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

/// Opens the port.
///
/// # Errors
/// It is taken, or not ours to open.
pub async fn listen(http: &config::Http) -> Result<TcpListener, StartError> {
    let listener = TcpListener::bind(http.bind).await;
    let listener = listener.map_err(|error| StartError::Io {
        what: format!("port {}", http.bind),
        error,
    })?;
    match listener.local_addr() {
        Ok(address) => tracing::info!(%address, "API is listening"),
        Err(error) => tracing::warn!(%error, "API is listening at an unknown address"),
    }
    Ok(listener)
}
