//! Reading ledgers for the transaction that used a pair. A window may span thousands of transactions, so scans run
//! aside, some ledgers at a time, remember how far they came, and are asked again by the next pass.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::domain::ids::{Pair, SubmissionId};
use crate::ledger::Lease;
use crate::stellar::rpc::{Consumed, Consumer, Rpc};

/// Scans under way at once.
const AT_ONCE: usize = 4;
/// Parts read by one run of a scan, each some thousand transactions.
const PARTS: usize = 4;
/// A window that was read whole without seeing the consumer is read again after so long: an index may lag.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// What is known of a pair's consumer.
pub(super) enum Scanned {
    /// It was seen.
    Found(Box<Consumed>),
    /// Not yet.
    NotYet,
    /// No node's history reaches back to the window; the oldest ledger of them all.
    BeyondReach(u32),
}

/// The scans of one reconciler.
pub(super) struct Scans {
    nodes: Arc<Vec<Rpc>>,
    by_row: Arc<Mutex<HashMap<SubmissionId, Scan>>>,
    running: Mutex<JoinSet<()>>,
}

struct Scan {
    pair: Pair,
    from: u32,
    /// One for each node.
    progress: Vec<Progress>,
    state: State,
}

enum State {
    Paused { since: Instant },
    Running,
    Found(Box<Consumed>),
}

/// How far one node was read.
#[derive(Clone, Copy)]
struct Progress {
    /// The next ledger to read.
    next: u32,
    /// The node's oldest ledger, if that is younger than the window.
    begins_late: Option<u32>,
}

impl Scans {
    pub(super) fn new(rpc: &Rpc) -> Self {
        Self {
            nodes: Arc::new(rpc.each_node()),
            by_row: Arc::default(),
            running: Mutex::default(),
        }
    }

    /// Forgets the scans of rows that hold their pair no more.
    pub(super) fn retain(&self, leases: &[Lease]) {
        let mut scans = lock(&self.by_row);
        if !scans.is_empty() {
            scans.retain(|id, scan| {
                leases
                    .iter()
                    .any(|lease| lease.submission.id == *id && lease.pair == scan.pair)
            });
        }
    }

    /// What is known by now of the transaction that used the pair in ledgers `from` to `to`, both included. Sees to it
    /// that more is known the next time.
    pub(super) fn ask(&self, id: SubmissionId, pair: Pair, from: u32, to: u32) -> Scanned {
        let mut scans = lock(&self.by_row);
        let scan = scans
            .entry(id)
            .or_insert_with(|| Scan::new(pair, from, self.nodes.len()));
        if scan.pair != pair || scan.from > from {
            *scan = Scan::new(pair, from, self.nodes.len());
        }
        let since = match &scan.state {
            State::Found(found) => return Scanned::Found(found.clone()),
            State::Running => return Scanned::NotYet,
            State::Paused { since } => *since,
        };
        if scan.progress.iter().all(|progress| progress.next > to) {
            if let Some(oldest) = scan.beyond_reach() {
                return Scanned::BeyondReach(oldest);
            }
            if since.elapsed() < AGAIN_AFTER {
                return Scanned::NotYet;
            }
            *scan = Scan::new(pair, from, self.nodes.len());
        }
        self.start(id, scan, to);
        Scanned::NotYet
    }

    fn start(&self, id: SubmissionId, scan: &mut Scan, to: u32) {
        let mut running = lock(&self.running);
        while running.try_join_next().is_some() {}
        if running.len() >= AT_ONCE {
            return;
        }
        scan.state = State::Running;
        let (pair, mut progress) = (scan.pair, scan.progress.clone());
        let (nodes, by_row) = (Arc::clone(&self.nodes), Arc::clone(&self.by_row));
        running.spawn(async move {
            let mut found = None;
            for (node, progress) in nodes.iter().zip(&mut progress) {
                found = read_on(node, pair, progress, to).await;
                if found.is_some() {
                    break;
                }
            }
            if let Some(scan) = lock(&by_row).get_mut(&id).filter(|scan| scan.pair == pair) {
                scan.progress = progress;
                scan.state = match found {
                    Some(found) => State::Found(found),
                    None => State::Paused {
                        since: Instant::now(),
                    },
                };
            }
        });
    }
}

impl Scan {
    fn new(pair: Pair, from: u32, nodes: usize) -> Self {
        let progress = Progress {
            next: from,
            begins_late: None,
        };
        Self {
            pair,
            from,
            progress: vec![progress; nodes],
            state: State::Paused {
                since: Instant::now(),
            },
        }
    }

    /// The oldest ledger of all nodes, if none of them keeps the whole window.
    fn beyond_reach(&self) -> Option<u32> {
        let late: Option<Vec<u32>> = self
            .progress
            .iter()
            .map(|progress| progress.begins_late)
            .collect();
        late?.into_iter().min()
    }
}

/// Reads some more ledgers of one node.
async fn read_on(
    node: &Rpc,
    pair: Pair,
    progress: &mut Progress,
    to: u32,
) -> Option<Box<Consumed>> {
    for _ in 0..PARTS {
        if progress.next > to {
            return None;
        }
        let (read_to, whole) = match node.consumer(pair, progress.next, to).await {
            Ok(Consumer::Found(found)) => return Some(found),
            Ok(Consumer::NotSeen { read_to, whole }) => (read_to, whole),
            Err(fault) => {
                tracing::debug!(fault = fault.code(), "a scan is gone on with later");
                return None;
            }
        };
        if !whole {
            match node.oldest_ledger().await {
                // What it no longer keeps is passed over.
                Ok(oldest) if oldest > progress.next => progress.begins_late = Some(oldest),
                // Something could not be read: a later look may be able to.
                Ok(_) | Err(_) => return None,
            }
        }
        if read_to < progress.next {
            return None;
        }
        progress.next = read_to.saturating_add(1);
    }
    None
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
