//! `getHealth`, `getNetwork` and `getVersionInfo`.

use super::Surroundings;
use super::error::RpcError;
use super::params::{FormatOnly, Window};
use super::view::View;
use crate::network::Network;
use serde_json::{Value, json};
use std::time::Duration;

/// A node whose last ledger is older is not healthy.
const MAX_LATENCY: Duration = Duration::from_secs(30);

/// The ledgers this node has. A node that fell behind answers with an error, not with another status.
pub fn get_health(
    view: &View<'_>,
    surroundings: &Surroundings,
    params: Value,
) -> Result<Value, RpcError> {
    FormatOnly::check(params)?;
    if surroundings.since_close > MAX_LATENCY {
        return Err(RpcError::internal(format!(
            "latency ({}s) since last known ledger closed is too high (>{}s)",
            surroundings.since_close.as_secs(),
            MAX_LATENCY.as_secs()
        )));
    }
    let Window { oldest, latest } = Window::of(view);
    Ok(json!({
        "status": "healthy",
        "latestLedger": latest.sequence,
        "latestLedgerCloseTime": latest.close_time.to_string(),
        "oldestLedger": oldest.sequence,
        "oldestLedgerCloseTime": oldest.close_time.to_string(),
        "ledgerRetentionWindow": view.network().config().history_window,
    }))
}

/// Which network this is.
pub fn get_network(
    network: &Network,
    surroundings: &Surroundings,
    params: Value,
) -> Result<Value, RpcError> {
    FormatOnly::check(params)?;
    let mut reply = json!({
        "passphrase": network.config().passphrase,
        "protocolVersion": network.config().protocol,
    });
    if let Some(url) = &surroundings.friendbot_url {
        reply["friendbotUrl"] = url.as_str().into();
    }
    Ok(reply)
}

/// Which program this is.
pub fn get_version_info(network: &Network, params: Value) -> Result<Value, RpcError> {
    FormatOnly::check(params)?;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commitHash": "unknown",
        "buildTimestamp": "unknown",
        "captiveCoreVersion": concat!("tender-devnet ", env!("CARGO_PKG_VERSION"), " (simulated)"),
        "protocolVersion": network.config().protocol,
    }))
}
