//! Dev: the embedded stack, to work with.

use std::path::Path;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use tokio_util::sync::CancellationToken;

use super::embedded::{EmbeddedError, Setup, Stack};
use crate::config::EmbeddedConfig;

/// Runs the embedded stack until shutdown.
///
/// # Errors
/// It did not come up, or a part of it ended unasked.
pub async fn run(
    config: &EmbeddedConfig,
    database: &Path,
    channels: u32,
    close: Duration,
    shutdown: CancellationToken,
) -> Result<(), EmbeddedError> {
    let setup = Setup {
        database,
        channels,
        close,
        bind: config.http.bind,
    };
    let starting = Box::pin(Stack::start(config, setup, &shutdown));
    let Some(started) = shutdown.run_until_cancelled(starting).await else {
        return Ok(());
    };
    let stack = started?;
    announce(&stack);
    stack.run().await
}

/// Says where everything is, and how to make a first payment.
pub(super) fn announce(stack: &Stack) {
    let (api, rpc, key) = (
        &stack.api_url,
        &stack.rpc_url,
        stack.api_key.expose_secret(),
    );
    println!("\n  API      {api}     documentation at {api}/docs");
    println!("  network  {rpc}     simulated; friendbot at {rpc}/friendbot?addr=G...");
    println!("  key      {key}     for this run only\n");
    println!("  Ctrl-C ends it.");
}
