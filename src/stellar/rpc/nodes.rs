//! The nodes: whom to ask, and what to make of an answer or of none.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use crate::domain::classify::Fault;

use super::calls::{Calls, Method};
use super::standing::{Serves, Shown, Standing, Verdict, highest, order, weigh};
use super::transport::{BadNode, NoAnswer, Node};
use super::wire::{Health, Network, Params};

/// Longest that a node may take to tell where it is, while another one's answer waits for that.
const LOOK_PATIENCE: Duration = Duration::from_secs(2);

/// What an answer tells of the node that gave it.
pub(super) trait Answer: DeserializeOwned {
    /// The node's last ledger.
    fn shown(&self) -> Option<Shown>;

    /// The passphrase of the node's network.
    fn passphrase(&self) -> Option<&str> {
        None
    }
}

/// The nodes. The first configured one is preferred, until it fails or lags.
pub(super) struct Nodes {
    clients: Vec<Node>,
    standings: Mutex<Vec<Standing>>,
    /// Held while the others are asked for one answer's sake: whoever comes meanwhile uses what they say.
    looking: tokio::sync::Mutex<()>,
    passphrase: String,
    pub(super) calls: Calls,
}

impl Nodes {
    /// The nodes at those addresses. Where there are several, each has to tell that passphrase before it is asked
    /// anything else, unless it is empty.
    pub(super) fn new(
        urls: &[String],
        passphrase: &str,
        send_timeout: Duration,
        read_timeout: Duration,
    ) -> Result<Self, BadNode> {
        if urls.is_empty() {
            return Err(BadNode::None);
        }
        let node = |(index, url): (usize, &String)| {
            Node::new(url, send_timeout, read_timeout).ok_or(BadNode::Url(index + 1))
        };
        let clients: Vec<_> = urls
            .iter()
            .enumerate()
            .map(node)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            standings: Mutex::new(vec![Standing::default(); clients.len()]),
            clients,
            looking: tokio::sync::Mutex::default(),
            passphrase: passphrase.to_owned(),
            calls: Calls::default(),
        })
    }

    /// The nodes, counted from 0.
    pub(super) fn indices(&self) -> Range<usize> {
        0..self.clients.len()
    }

    /// The node that is asked first.
    pub(super) fn preferred(&self) -> Option<usize> {
        order(&self.standings()).first().copied()
    }

    /// Asks the pinned node alone; or the best one, and then the next as long as nobody takes the call. A call that may
    /// have been taken is repeated only if it has no effect, and only once.
    pub(super) async fn call<T: Answer, R>(
        self: &Arc<Self>,
        pinned: Option<usize>,
        method: Method,
        params: &Params,
        read: impl Fn(T) -> Result<R, Fault>,
    ) -> Result<R, NoAnswer> {
        let candidates = match pinned {
            Some(node) => vec![node],
            None => order(&self.standings()),
        };
        let mut repeats = u8::from(!method.has_effect());
        let mut given = Err(NoAnswer::Fault(Fault::Connect));
        for node in candidates {
            given = self.ask(node, method, params, &read).await;
            match given {
                Err(NoAnswer::Fault(Fault::Connect)) => {}
                Err(no_answer) if repeats > 0 && is_the_nodes(method, no_answer) => repeats -= 1,
                Ok(_) | Err(_) => break,
            }
        }
        self.look_around();
        given
    }

    /// Asks one node, once it has told its network, and takes note of how that went.
    async fn ask<T: Answer, R>(
        &self,
        node: usize,
        method: Method,
        params: &Params,
        read: impl Fn(T) -> Result<R, Fault>,
    ) -> Result<R, NoAnswer> {
        if method != Method::GetNetwork {
            self.confirm(node).await?;
        }
        self.calls.count(method);
        let answer: Result<T, _> = self.clients[node].ask(method, params).await;
        let read = answer.and_then(|answer| {
            let (shown, passphrase) = (answer.shown(), answer.passphrase().map(str::to_owned));
            Ok((read(answer)?, shown, passphrase))
        });
        match read {
            Ok((read, shown, passphrase)) => {
                self.standing(node, |standing| standing.answered(Instant::now()));
                if let Some(passphrase) = passphrase {
                    self.note_network(node, &passphrase);
                }
                match shown {
                    Some(shown) if !self.believes(node, shown).await => {
                        Err(Fault::Malformed.into())
                    }
                    Some(_) | None => Ok(read),
                }
            }
            Err(no_answer) => {
                if is_the_nodes(method, no_answer) {
                    self.note_failure(node, no_answer.into());
                }
                Err(no_answer)
            }
        }
    }

    /// Makes sure that the node serves our network: its ledgers and accounts would be believed otherwise. Whatever goes
    /// wrong, the call itself was not made.
    async fn confirm(&self, node: usize) -> Result<(), Fault> {
        if self.clients.len() == 1 || self.passphrase.is_empty() {
            return Ok(());
        }
        if self.serves(node) == Serves::Untold {
            self.calls.count(Method::GetNetwork);
            let params = Params::none();
            let asked = self.clients[node].ask::<Network>(Method::GetNetwork, &params);
            match asked.await {
                Ok(network) => self.note_network(node, &network.passphrase),
                Err(no_answer) => self.note_failure(node, no_answer.into()),
            }
        }
        match self.serves(node) {
            Serves::Ours => Ok(()),
            Serves::Untold | Serves::Another => Err(Fault::Connect),
        }
    }

    /// Whether an answer that shows that ledger is believed; asks the others first where that decides.
    async fn believes(&self, node: usize, shown: Shown) -> bool {
        match self.weigh(node, shown, false) {
            Verdict::Believed => return true,
            Verdict::Implausible => return false,
            Verdict::AskOthers => {}
        }
        let _looking = self.looking.lock().await;
        match self.weigh(node, shown, false) {
            Verdict::Believed => return true,
            Verdict::Implausible => return false,
            Verdict::AskOthers => {}
        }
        let others = self.indices().filter(|other| *other != node);
        let mut heard = self.look_at(others.collect()).await;
        heard.push((node, shown));
        self.settle(heard)
            .into_iter()
            .any(|(believed, _)| believed == node)
    }

    /// Believes nodes, the lowest first, so that what each says is held against those below it. Returns the believed.
    fn settle(&self, mut heard: Vec<(usize, Shown)>) -> Vec<(usize, Shown)> {
        heard.sort_by_key(|(_, shown)| (shown.ledger, shown.close_time));
        heard.retain(|(node, shown)| self.weigh(*node, *shown, true) == Verdict::Believed);
        let mut standings = self.standings();
        for (node, shown) in &heard {
            let before = standings[*node];
            let of_others = highest(others(&standings, *node));
            standings[*node].compare(*shown, of_others);
            tell(*node, &before, &standings[*node], shown.ledger);
        }
        drop(standings);
        heard
    }

    /// Weighs an answer and takes note of the verdict.
    fn weigh(&self, node: usize, shown: Shown, asked: bool) -> Verdict {
        let now = Instant::now();
        let mut standings = self.standings();
        let before = standings[node];
        let verdict = weigh(&before, others(&standings, node), shown, asked, now);
        let of_others = highest(others(&standings, node));
        let standing = &mut standings[node];
        match verdict {
            Verdict::AskOthers => {}
            Verdict::Believed => {
                standing.showed(shown, now);
                standing.compare(shown, of_others);
            }
            Verdict::Implausible => {
                standing.failed(now);
                standing.aside = true;
            }
        }
        tell(node, &before, standing, shown.ledger);
        verdict
    }

    /// Looks at the nodes that nobody has asked for long, while the caller goes on.
    fn look_around(self: &Arc<Self>) {
        let now = Instant::now();
        let mut standings = self.standings();
        if standings.len() == 1 {
            return;
        }
        let mut due = Vec::new();
        for (node, standing) in standings.iter_mut().enumerate() {
            if standing.is_due(now) {
                standing.looked_at = Some(now);
                due.push(node);
            }
        }
        drop(standings);
        if !due.is_empty() {
            let nodes = Arc::clone(self);
            tokio::spawn(async move {
                let heard = nodes.look_at(due).await;
                nodes.settle(heard);
            });
        }
    }

    /// Asks nodes where they are. What they say is not yet weighed.
    async fn look_at(&self, nodes: Vec<usize>) -> Vec<(usize, Shown)> {
        let looks = nodes.into_iter().map(|node| async move {
            let look = async {
                self.confirm(node).await?;
                self.calls.count(Method::GetHealth);
                self.clients[node]
                    .ask::<Health>(Method::GetHealth, &Params::none())
                    .await
            };
            match timeout(LOOK_PATIENCE, look).await {
                Ok(Ok(health)) => {
                    self.standing(node, |standing| standing.answered(Instant::now()));
                    Some((node, health.shown()?))
                }
                Ok(Err(no_answer)) => {
                    self.note_failure(node, no_answer.into());
                    None
                }
                Err(_elapsed) => {
                    self.note_failure(node, Fault::Timeout);
                    None
                }
            }
        });
        join_all(looks).await.into_iter().flatten().collect()
    }

    fn note_failure(&self, node: usize, fault: Fault) {
        let rested = self.standing(node, |standing| {
            let rested = standing.rests_until.is_some();
            standing.failed(Instant::now());
            rested
        });
        if !rested && self.clients.len() > 1 {
            let fault = fault.code();
            tracing::warn!(
                node = node + 1,
                fault,
                "an RPC node failed: others are preferred"
            );
        }
    }

    fn note_network(&self, node: usize, passphrase: &str) {
        let serves = if passphrase == self.passphrase {
            Serves::Ours
        } else {
            Serves::Another
        };
        let before = self.standing(node, |standing| {
            std::mem::replace(&mut standing.serves, serves)
        });
        if serves == Serves::Another && before != serves && !self.passphrase.is_empty() {
            tracing::error!(
                node = node + 1,
                "an RPC node serves another network: it is not used"
            );
        }
    }

    fn serves(&self, node: usize) -> Serves {
        self.standing(node, |standing| standing.serves)
    }

    fn standing<R>(&self, node: usize, change: impl FnOnce(&mut Standing) -> R) -> R {
        change(&mut self.standings()[node])
    }

    fn standings(&self) -> MutexGuard<'_, Vec<Standing>> {
        // Nothing panics while it is held, and every state of it is a valid one.
        self.standings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn others(standings: &[Standing], node: usize) -> impl Iterator<Item = &Standing> + Clone {
    let others = standings.iter().enumerate();
    others.filter_map(move |(other, standing)| (other != node).then_some(standing))
}

/// Whether a fault is the node's own, so that another one may do better.
fn is_the_nodes(method: Method, no_answer: NoAnswer) -> bool {
    match no_answer {
        // Any node's page would be as large: a smaller one is asked for.
        NoAnswer::TooLarge => method != Method::GetTransactions,
        // The request is unknown, wrong, or out of what is kept.
        NoAnswer::Fault(Fault::Rpc(code)) => !(-32602..=-32600).contains(&code),
        NoAnswer::Fault(
            Fault::Connect
            | Fault::Reset
            | Fault::Timeout
            | Fault::Http(_)
            | Fault::UnknownStatus
            | Fault::Malformed,
        ) => true,
    }
}

/// Tells staff what changed.
fn tell(node: usize, before: &Standing, after: &Standing, ledger: u32) {
    let node = node + 1;
    match (before.aside, after.aside) {
        (false, true) => tracing::error!(
            node,
            ledger,
            "an RPC node is implausibly far ahead of the others and set aside: staff must look at this"
        ),
        (true, false) => tracing::warn!(node, ledger, "an RPC node is believed again"),
        (false, false) | (true, true) => tell_lag(node, before, after, ledger),
    }
}

fn tell_lag(node: usize, before: &Standing, after: &Standing, ledger: u32) {
    match (before.lags, after.lags) {
        (false, true) => tracing::warn!(node, ledger, "an RPC node lags: others are preferred"),
        (true, false) => tracing::info!(node, ledger, "an RPC node has caught up"),
        (false, false) | (true, true) => {}
    }
}
