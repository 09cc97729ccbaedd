//! A front end: a way into a node, with what goes wrong on the way.
//!
//! Several front ends may lead into one node, each at its own height and with faults of its own; one front end may stand
//! for several replicas behind one address. [`FrontEnd::reply`] needs neither a socket nor a clock, so that a simulation
//! can use it as it is; [`super::serve_front`] puts it on a port.

use super::error::RpcError;
use super::garble::{Garble, wrong_hash};
use super::jsonrpc;
use super::{IndexLag, Method, SendManner, Sight, Surroundings, asked_hash, hash_of_params};
use crate::faults::{Call, Decision, Fault, FaultPlan, FaultReport, Loss};
use crate::node::DevNode;
use crate::past::MAX_LAG;
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A status that no documentation knows.
const UNKNOWN_STATUS: &str = "ENQUEUED";
/// Most replicas behind one front end.
pub const MAX_REPLICAS: usize = 16;

/// What a client gets for a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// How much later than usual it comes.
    pub delay: Duration,
    /// What comes.
    pub body: Body,
}

/// The body of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The answer, or the answers of a batch.
    Answer(Value),
    /// Nothing to answer: only notifications.
    Nothing,
    /// A text that is no proper answer, or a padded one.
    Text(String),
    /// An answer that got lost.
    Lost(Lost),
}

/// How a whole answer gets lost on the connection; losses that are JSON-RPC errors are answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The connection is reset.
    Reset,
    /// Nothing, until the client gives up.
    Hang,
    /// This HTTP status.
    Status(u16),
}

/// A way into a node; clones are the same one.
#[derive(Clone, Debug)]
pub struct FrontEnd {
    node: DevNode,
    shared: Arc<Shared>,
    admin: bool,
}

#[derive(Debug)]
struct Shared {
    /// How many ledgers each replica is behind; they take turns.
    lags: Vec<u32>,
    turn: AtomicUsize,
    faults: Option<Mutex<FaultPlan>>,
}

/// What became of one call.
pub(super) struct Called {
    pub delay: Duration,
    pub result: Result<Result<Value, RpcError>, Lost>,
    pub garbled: Option<Garble>,
}

impl FrontEnd {
    /// A way that shows the node as it is and lets its plan of faults apply.
    #[must_use]
    pub fn new(node: DevNode) -> Self {
        Self {
            node,
            shared: Arc::new(Shared {
                lags: vec![0],
                turn: AtomicUsize::new(0),
                faults: None,
            }),
            admin: false,
        }
    }

    /// The same for several replicas, each that many ledgers behind, at most [`MAX_LAG`]; requests go to them in turn.
    /// Of more than [`MAX_REPLICAS`] the first count; none at all is one that is not behind.
    #[must_use]
    pub fn with_lags(self, lags: &[u32]) -> Self {
        let mut lags: Vec<u32> = lags
            .iter()
            .take(MAX_REPLICAS)
            .map(|lag| (*lag).min(MAX_LAG))
            .collect();
        if lags.is_empty() {
            lags.push(0);
        }
        let faults = self.own_faults();
        self.with_shared(lags, faults)
    }

    /// The same with faults of its own, which go before those of the node's plan. Rules about ledgers do
    /// nothing here: those belong to the node.
    #[must_use]
    pub fn with_faults(self, plan: FaultPlan) -> Self {
        let lags = self.shared.lags.clone();
        self.with_shared(lags, Some(plan))
    }

    /// The same with an endpoint that sets the node's faults; for listeners on the loopback interface only.
    #[must_use]
    pub fn with_admin(mut self) -> Self {
        self.admin = true;
        self
    }

    fn with_shared(self, lags: Vec<u32>, faults: Option<FaultPlan>) -> Self {
        let shared = Arc::new(Shared {
            lags,
            turn: AtomicUsize::new(0),
            faults: faults.map(Mutex::new),
        });
        Self { shared, ..self }
    }

    fn own_faults(&self) -> Option<FaultPlan> {
        let plan = self.shared.faults.as_ref()?;
        Some(plan.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// The node it leads to.
    #[must_use]
    pub fn node(&self) -> &DevNode {
        &self.node
    }

    /// What its own faults did so far.
    #[must_use]
    pub fn faults(&self) -> Option<FaultReport> {
        self.own_faults().map(|plan| plan.report().clone())
    }

    pub(super) fn is_admin(&self) -> bool {
        self.admin
    }

    /// Does what the calls of a request's body ask, and says what the client gets. Nothing waits: a slow answer tells how
    /// slow it is.
    #[must_use]
    pub fn reply(&self, body: &[u8], friendbot_url: Option<&str>) -> Reply {
        let turn = self.shared.turn.fetch_add(1, Ordering::Relaxed);
        let lag = self.shared.lags[turn % self.shared.lags.len()];
        jsonrpc::respond(body, |method, params| {
            self.call(lag, method, params, friendbot_url)
        })
    }

    fn decide(&self, method: Method, params: &Value) -> Vec<Decision> {
        let own = self.shared.faults.as_ref().map(|plan| {
            let plan = plan.lock().unwrap_or_else(PoisonError::into_inner);
            plan.concerns(method)
        });
        if own != Some(true) && !self.node.faults_concern(method) {
            return Vec::new();
        }
        let hash = match method {
            Method::SendTransaction => {
                let id = self.node.inspect(|network| network.network_id().clone());
                hash_of_params(&id, params)
            }
            Method::GetTransaction => asked_hash(params),
            Method::GetTransactions
            | Method::GetLedgers
            | Method::GetLedgerEntries
            | Method::GetLatestLedger
            | Method::GetFeeStats
            | Method::GetEvents
            | Method::GetHealth
            | Method::GetNetwork
            | Method::GetVersionInfo => None,
        };
        let hash = hash.as_ref();
        let call = Call { method, hash };
        let mut decided = self.shared.faults.as_ref().map_or_else(Vec::new, |plan| {
            let mut plan = plan.lock().unwrap_or_else(PoisonError::into_inner);
            plan.decide_all(call)
        });
        decided.extend(self.node.decide_faults(call));
        decided
    }

    /// One call, with what goes wrong with it.
    fn call(&self, lag: u32, method: &str, params: Value, friendbot_url: Option<&str>) -> Called {
        let Some(method) = Method::named(method) else {
            return Called::proper(Err(RpcError::method_not_found(method)));
        };
        self.node.count(method);
        let decisions = self.decide(method, &params);
        let mut called = Called::proper(Err(RpcError::internal("not answered")));
        let mut surroundings = Surroundings {
            friendbot_url: friendbot_url.map(str::to_owned),
            sight: Sight {
                lag,
                ..Sight::default()
            },
            ..Surroundings::default()
        };
        // The later ones first, so that the earlier ones have their way.
        for decision in decisions.iter().rev() {
            called.befall(decision.fault);
            distort(&mut surroundings, decision);
        }
        let lost = decisions.iter().find_map(|decision| loss(decision.fault));
        if let Some((loss, false)) = lost {
            called.result = lose(loss);
            return called;
        }
        let answer = self.node.answer(method, params, surroundings);
        let mut faults = decisions.iter().map(|decision| decision.fault);
        called.result = match lost {
            // Nobody will see what the network said.
            Some((loss, _)) => lose(loss),
            None if faults.any(|fault| fault == Fault::WrongHash) => Ok(answer.map(wrong_hash)),
            None => Ok(answer),
        };
        called
    }
}

impl Called {
    fn proper(result: Result<Value, RpcError>) -> Self {
        Self {
            delay: Duration::ZERO,
            result: Ok(result),
            garbled: None,
        }
    }

    /// What a fault does to an answer on its way.
    fn befall(&mut self, fault: Fault) {
        match fault {
            Fault::Slow { ms } => self.delay = Duration::from_millis(ms.into()),
            Fault::Malformed(kind) => self.garbled = Some(Garble::Malformed(kind)),
            Fault::Oversized { bytes } => self.garbled = Some(Garble::Padded(bytes)),
            Fault::AnswerLostAfterAccept(_)
            | Fault::AnswerLostBeforeAccept(_)
            | Fault::UnknownStatus { .. }
            | Fault::TryAgainLater { .. }
            | Fault::BadSequence { .. }
            | Fault::Held { .. }
            | Fault::IndexLag { .. }
            | Fault::Lag { .. }
            | Fault::ShortHistory { .. }
            | Fault::WrongHash => {}
        }
    }
}

/// The loss that a fault is, and whether the call is done all the same.
fn loss(fault: Fault) -> Option<(Loss, bool)> {
    match fault {
        Fault::AnswerLostAfterAccept(loss) => Some((loss, true)),
        Fault::AnswerLostBeforeAccept(loss) => Some((loss, false)),
        Fault::UnknownStatus { .. }
        | Fault::TryAgainLater { .. }
        | Fault::BadSequence { .. }
        | Fault::Held { .. }
        | Fault::IndexLag { .. }
        | Fault::Lag { .. }
        | Fault::ShortHistory { .. }
        | Fault::Slow { .. }
        | Fault::WrongHash
        | Fault::Malformed(_)
        | Fault::Oversized { .. } => None,
    }
}

/// What a fault does to a call before it is answered.
fn distort(surroundings: &mut Surroundings, decision: &Decision) {
    let says = |status, taken| SendManner::Says { status, taken };
    match decision.fault {
        Fault::UnknownStatus { taken } => surroundings.manner = says(UNKNOWN_STATUS, taken),
        Fault::TryAgainLater { taken } => surroundings.manner = says("TRY_AGAIN_LATER", taken),
        Fault::BadSequence { ledgers } => {
            surroundings.manner = SendManner::BadSequence { ledgers };
        }
        Fault::Held { until, dropped } => {
            surroundings.manner = SendManner::Held { until, dropped };
        }
        Fault::IndexLag { ledgers } => {
            surroundings.sight.index = Some(IndexLag {
                ledgers,
                scope: decision.scope.clone(),
            });
        }
        Fault::Lag { ledgers } => surroundings.sight.lag = ledgers,
        Fault::ShortHistory { ledgers } => surroundings.sight.history = Some(ledgers),
        Fault::AnswerLostAfterAccept(_)
        | Fault::AnswerLostBeforeAccept(_)
        | Fault::Slow { .. }
        | Fault::WrongHash
        | Fault::Malformed(_)
        | Fault::Oversized { .. } => {}
    }
}

/// What the client gets instead of an answer.
fn lose(loss: Loss) -> Result<Result<Value, RpcError>, Lost> {
    let error = |code, message: &str| Ok(Err(RpcError::new(code, message)));
    match loss {
        Loss::Reset => Err(Lost::Reset),
        Loss::Hang => Err(Lost::Hang),
        Loss::TooManyRequests => Err(Lost::Status(429)),
        Loss::BadGateway => Err(Lost::Status(502)),
        Loss::ServiceUnavailable => Err(Lost::Status(503)),
        Loss::GatewayTimeout => Err(Lost::Status(504)),
        Loss::RpcInternal => error(-32_603, "could not submit transaction to stellar-core"),
        Loss::RpcProcessingLimit => error(-32_001, "request exceeded processing limit threshold"),
        Loss::RpcQueueFull => error(-32_098, "rpc queue surpassed queue limit"),
    }
}
