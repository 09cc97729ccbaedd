//! When ledgers close: in a rhythm that the test sets, changes and stops.

use std::time::Duration;

use tender_devnet::node::DevNode;
use tokio::{sync::watch, task::spawn_blocking, time::interval};

/// Closes the ledgers of a node. Ends when dropped.
pub struct Ledgers {
    rhythm: watch::Sender<Option<Duration>>,
}

impl Ledgers {
    /// A ledger whenever `every` is over, each a second after the one before in the network's own time.
    pub fn closing(node: DevNode, every: Duration) -> Self {
        let (rhythm, follow) = watch::channel(Some(every));
        tokio::spawn(close(node, follow));
        Self { rhythm }
    }

    /// No ledger closes until [`Ledgers::resume`].
    pub fn stop(&self) {
        self.rhythm.send_replace(None);
    }

    pub fn resume(&self, every: Duration) {
        self.rhythm.send_replace(Some(every));
    }
}

async fn close(node: DevNode, mut rhythm: watch::Receiver<Option<Duration>>) {
    loop {
        let every = *rhythm.borrow_and_update();
        let Some(every) = every else {
            if rhythm.changed().await.is_err() {
                return;
            }
            continue;
        };
        let mut ticks = interval(every);
        ticks.tick().await;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                changed = rhythm.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
            }
            let node = node.clone();
            spawn_blocking(move || node.close_ledger()).await.unwrap();
        }
    }
}
