//! A worker or a reconciler as a process: it does one thing at a time, waits for answers, and may crash while it waits.

use std::sync::Arc;
use std::time::Duration;

use tender::domain::ids::SubmissionId;
use tender::flow::chain::Chain;
use tender::flow::reconcile::{ReconcileError, ReconcileSettings, Reconciler};
use tender::flow::send::{SendDelays, Sender};
use tender::flow::submit::{SubmitSettings, Submitter};
use tender::ledger::{Ledger, LedgerError};
use tender::stellar::keyring::{Identity, KeyRing};
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::{Rpc, Seen};
use tender_devnet::node::DevNode;
use tokio::task::JoinHandle;

use crate::fate::Mood;
use crate::front::Front;
use crate::net::{CLOSE_S, channel, treasury};
use crate::shared::Shared;
use crate::support::NEVER;

/// Lifetime of an envelope.
pub const TIMEOUT_S: u64 = 120;

/// Age of the oldest ledger that dates an envelope.
const OLDEST_S: u64 = 30;

/// What a process needs to start.
pub struct Site {
    pub node: DevNode,
    pub network: NetworkId,
    pub ledger: Ledger,
    pub seed: u64,
    pub channels: u8,
    pub max_fee: i64,
    pub shared: Option<Shared>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Worker,
    Reconciler,
}

/// What a flow came to.
pub struct Done {
    /// As the trace tells it.
    pub told: String,
    /// The ledger refused what must never be asked of it.
    pub corrupt: Option<String>,
}

pub struct Process {
    pub name: &'static str,
    pub role: Role,
    pub front: Front,
    chain: Arc<Chain>,
    submitter: Arc<Submitter>,
    reconciler: Arc<Reconciler>,
    doing: Option<JoinHandle<Done>>,
    /// Sends aside that were held when it began to do what it does.
    held_before: usize,
}

impl Process {
    pub async fn start(name: &'static str, role: Role, site: &Site) -> Self {
        let front = Front::start(&site.node, &site.network, site.seed).await;
        let chain = Arc::new(Chain::default());
        let (submitter, reconciler) = parts(site, &front.url, &chain);
        Self {
            name,
            role,
            front,
            chain,
            submitter: Arc::new(submitter),
            reconciler: Arc::new(reconciler),
            doing: None,
            held_before: 0,
        }
    }

    /// Begins a step.
    pub fn in_step(&mut self, step: u64, mood: Mood) {
        self.held_before = self.front.held();
        // Where a worker asks for accounts it looks at a clock.
        let in_time = self.role == Role::Worker;
        self.front.in_step(step, Mood { in_time, ..mood });
    }

    /// Lets the calls it waits for go on, or loses them.
    pub fn let_go(&mut self, deliver: bool) {
        self.front.let_go(deliver);
        self.held_before = 0;
    }

    pub fn is_idle(&self) -> bool {
        self.doing.is_none()
    }

    /// No process dates an envelope by what it saw longer ago. Its own clock, by which it tells, stands still here.
    pub fn forget_the_past(&self, node: &DevNode) {
        let latest = *node.latest().borrow();
        let known = self.chain.latest();
        if known.is_some_and(|seen| seen.close_time + OLDEST_S < latest.close_time) {
            self.chain.observe(Seen {
                ledger: latest.sequence,
                close_time: latest.close_time,
            });
        }
    }

    pub fn submit(&mut self, id: SubmissionId) {
        let submitter = Arc::clone(&self.submitter);
        self.doing = Some(tokio::spawn(async move {
            match submitter.submit(id).await {
                Ok(submitted) => Done::with(format!("{submitted:?}")),
                Err(error) => Done::failed(&error),
            }
        }));
    }

    pub fn pass(&mut self) {
        let reconciler = Arc::clone(&self.reconciler);
        self.doing = Some(tokio::spawn(async move {
            // A process that cannot look at the chain passes later: it has no time to judge by.
            match reconciler.look_at_chain().await {
                Err(ReconcileError::Network(fault)) => return Done::with(fault.code()),
                Err(ReconcileError::Memory(why)) => return Done::with(why),
                Err(ReconcileError::Ledger(error)) => return Done::failed(&error),
                Ok(_) => {}
            }
            match reconciler.pass().await {
                Ok(report) => Done::with(format!("{report:?}")),
                Err(ReconcileError::Network(fault)) => Done::with(fault.code()),
                Err(ReconcileError::Memory(why)) => Done::with(why),
                Err(ReconcileError::Ledger(error)) => Done::failed(&error),
            }
        }));
    }

    pub fn look_up_late(&mut self) {
        let reconciler = Arc::clone(&self.reconciler);
        self.doing = Some(tokio::spawn(async move {
            match reconciler.look_up_indeterminate(None).await {
                Ok((_, settled)) => Done::with(format!("{settled} settled")),
                Err(ReconcileError::Network(fault)) => Done::with(fault.code()),
                Err(ReconcileError::Memory(why)) => Done::with(why),
                Err(ReconcileError::Ledger(error)) => Done::failed(&error),
            }
        }));
    }

    /// Waits until it has done what it does, or waits for an answer itself.
    pub async fn settle(&mut self) -> Option<Done> {
        let held = self.held_before;
        let doing = self.doing.as_mut()?;
        tokio::select! {
            biased;
            done = doing => {
                self.doing = None;
                Some(done.unwrap())
            }
            () = self.front.holds_more_than(held) => None,
        }
    }

    /// What it came to, if it is done by now.
    pub async fn done(&mut self) -> Option<Done> {
        if !self.doing.as_ref()?.is_finished() {
            return None;
        }
        Some(self.doing.take()?.await.unwrap())
    }

    /// Ends it where it stands, and starts it anew. Requests that were under way may still arrive.
    pub async fn crash(&mut self, site: &Site) -> Vec<Vec<u8>> {
        if let Some(doing) = self.doing.take() {
            doing.abort();
            let _ = doing.await;
        }
        let under_way = self.front.die();
        *self = Self::start(self.name, self.role, site).await;
        under_way
    }
}

impl Done {
    fn with(told: String) -> Self {
        Self {
            told,
            corrupt: None,
        }
    }

    fn failed(error: &LedgerError) -> Self {
        let why = error.to_string();
        // A node that lags far dates an envelope like the one before it: the same bytes are not recorded twice.
        let same_bytes = why.contains("submission_attempts.hash");
        Self {
            told: "the ledger refuses".to_owned(),
            corrupt: (!same_bytes).then_some(why),
        }
    }
}

fn parts(site: &Site, url: &str, chain: &Arc<Chain>) -> (Submitter, Reconciler) {
    let rpc = Rpc::new(site.network.clone(), &[url.to_owned()], NEVER, NEVER).unwrap();
    let delays = SendDelays {
        unknown: Duration::ZERO,
        under_way: Duration::ZERO,
        ban: Duration::ZERO,
        acknowledged: Duration::ZERO,
    };
    let ledger = site.ledger.clone();
    let shared = site.shared.as_ref();
    let allocator = shared.map(|shared| shared.allocator(&ledger, &rpc, chain));
    let sender = Arc::new(Sender::new(ledger.clone(), rpc, Arc::clone(chain), delays));
    let identity = Identity {
        network: site.network.clone(),
        treasury: treasury().account(),
    };
    let signers = (0..site.channels).map(channel).collect();
    let submitter = Submitter::new(
        ledger.clone(),
        Arc::clone(&sender),
        identity.clone(),
        KeyRing::new(treasury(), treasury().account(), signers).unwrap(),
        Arc::clone(chain),
        SubmitSettings {
            base_fee: 100,
            max_fee: site.max_fee,
            confirmation_timeout_s: TIMEOUT_S,
        },
    );
    let submitter = match allocator {
        Some(allocator) => submitter.serialized_by(allocator),
        None => submitter,
    };
    let close = Duration::from_secs(CLOSE_S);
    let settings = ReconcileSettings {
        interval: close,
        close_time: close,
        max_fee: site.max_fee,
    };
    let chain = Arc::clone(chain);
    let reconciler = Reconciler::new(ledger, sender, identity, treasury(), chain, settings);
    (submitter, reconciler)
}
