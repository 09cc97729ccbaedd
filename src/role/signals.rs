//! SIGTERM and SIGINT end a role gracefully.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by the first SIGTERM or SIGINT.
#[must_use]
pub fn shutdown_on_signal() -> CancellationToken {
    let shutdown = CancellationToken::new();
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        match signal(kind) {
            Ok(mut signals) => {
                let shutdown = shutdown.clone();
                tokio::spawn(async move {
                    signals.recv().await;
                    tracing::info!("shutting down");
                    shutdown.cancel();
                });
            }
            Err(error) => tracing::warn!(%error, "a signal cannot be listened for"),
        }
    }
    shutdown
}
