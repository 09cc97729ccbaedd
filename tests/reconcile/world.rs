//! A ledger, a worker, a reconciler and a network of one or more nodes, all moved by hand.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sea_orm::{ConnectionTrait, Database};
use serde_json::{Value, json};
use tempfile::TempDir;
use tender::domain::ids::{AccountId, SubmissionId, TxHash};
use tender::domain::submission::{Budget, Status, Verdict};
use tender::flow::accept::{self, Outcome};
use tender::flow::allocate::Allocator;
use tender::flow::chain::Chain;
use tender::flow::reconcile::{ReconcileSettings, Reconciler, Report};
use tender::flow::send::{SendDelays, Sender};
use tender::flow::submit::{SubmitSettings, Submitted, Submitter};
use tender::ledger::{Channel, Ledger, Rules, Submission};
use tender::stellar::keyring::{Identity, KeyRing};
use tender::stellar::rpc::{Rpc, Seen};
use tender_devnet::node::DevNode;
use tender_devnet::rpc::{FrontEnd, serve_front};
use tokio::net::TcpListener;

use crate::net::{CLOSE_S, FIRST_SEQUENCE, Net, channel, payee, treasury};
use crate::support::{NEVER, Reply, Server};

/// What a node does instead of answering as it would; `None` leaves it to answer.
pub type Hook = Box<dyn Fn(&DevNode, &str, &Value) -> Option<Reply> + Send + Sync>;

/// A front end of the network that misbehaves as told.
pub struct Node {
    hook: Arc<Mutex<Hook>>,
    server: Server,
}

impl Node {
    async fn of(net: &Net) -> Self {
        let hook: Arc<Mutex<Hook>> = Arc::new(Mutex::new(Box::new(|_, _, _| None)));
        let (node, told) = (net.node.clone(), Arc::clone(&hook));
        let server = Server::start(move |method, params| {
            let instead = told.lock().unwrap()(&node, method, params);
            instead.unwrap_or_else(|| answer(&node, method, params))
        })
        .await;
        Self { hook, server }
    }

    /// From now on.
    pub fn when_asked(
        &self,
        hook: impl Fn(&DevNode, &str, &Value) -> Option<Reply> + Send + Sync + 'static,
    ) {
        *self.hook.lock().unwrap() = Box::new(hook);
    }

    pub fn behaves(&self) {
        self.when_asked(|_, _, _| None);
    }
}

/// What the network would answer.
pub fn answer(node: &DevNode, method: &str, params: &Value) -> Reply {
    match node.call(method, params.clone()) {
        Ok(result) => Reply::Result(result),
        Err(error) => Reply::Error(error.code.try_into().unwrap()),
    }
}

pub struct World {
    pub net: Net,
    pub nodes: Vec<Node>,
    pub ledger: Ledger,
    pub submitter: Submitter,
    pub reconciler: Reconciler,
    /// The service's client of the network.
    pub rpc: Rpc,
    channels: u8,
    database: String,
    directory: TempDir,
}

fn rules() -> Rules {
    Rules {
        budget: Budget {
            transient_failures: 3,
            claims: 3,
        },
        backoff: |_, _, _| Duration::ZERO,
        backoff_base: Duration::ZERO,
        backoff_max: Duration::ZERO,
        claim_ttl: Duration::from_secs(30),
        resend_after: Duration::ZERO,
        max_in_flight: None,
    }
}

impl World {
    /// One node and so many channel accounts.
    pub async fn start(channels: u8) -> Self {
        Self::with_nodes(1, channels).await
    }

    pub async fn with_nodes(nodes: usize, channels: u8) -> Self {
        Self::of(Net::start().await, nodes, channels).await
    }

    /// So many nodes of that network.
    pub async fn of(net: Net, nodes: usize, channels: u8) -> Self {
        let mut fronts = Vec::new();
        for _ in 0..nodes {
            fronts.push(Node::of(&net).await);
        }
        let urls: Vec<_> = fronts.iter().map(|node| node.server.url()).collect();
        Self::over(net, fronts, &urls, channels).await
    }

    /// One address, behind which that front end of the network's node makes calls and ledgers go wrong.
    pub async fn behind(channels: u8, front: impl FnOnce(FrontEnd) -> FrontEnd) -> Self {
        let net = Net::start().await;
        let front = front(FrontEnd::new(net.node.clone()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve_front(front, listener, std::future::pending()));
        Self::over(net, Vec::new(), &[url], channels).await
    }

    async fn over(net: Net, nodes: Vec<Node>, urls: &[String], channels: u8) -> Self {
        let directory = TempDir::new().unwrap();
        let database = format!("sqlite://{}", directory.path().join("ledger").display());
        let ledger = Ledger::connect(&database, 2, rules()).await.unwrap();
        ledger.migrate_up().await.unwrap();
        let pool: Vec<_> = (0..channels)
            .map(|number| (channel(number).account(), FIRST_SEQUENCE))
            .collect();
        ledger.add_channels(&pool).await.unwrap();
        let rpc = Rpc::new(net.id.clone(), urls, SEND_TIMEOUT, NEVER).unwrap();
        let (submitter, reconciler) = parts(&net, &ledger, rpc.clone(), channels);
        Self {
            net,
            nodes,
            ledger,
            submitter,
            reconciler,
            rpc,
            channels,
            database,
            directory,
        }
    }

    /// A copy of the ledger as it is now.
    pub async fn back_up(&self) -> PathBuf {
        let copy = self.directory.path().join("backup");
        self.sql(&format!("VACUUM INTO '{}'", copy.display())).await;
        copy
    }

    /// Has all processes start anew over that copy. What it says of itself is what every copy of the files says.
    pub async fn roll_back(&mut self, copy: &Path) {
        self.database = format!("sqlite://{}", copy.display());
        self.ledger = Ledger::connect(&self.database, 2, rules()).await.unwrap();
        (self.submitter, self.reconciler) =
            parts(&self.net, &self.ledger, self.rpc.clone(), self.channels);
    }

    /// The same world, whose submissions share one account.
    #[allow(dead_code, reason = "for the tests of a shared account")]
    pub fn serialized_by(mut self, allocator: Allocator) -> Self {
        self.submitter = self.submitter.serialized_by(allocator);
        self
    }

    /// Another process's reconciler over the same ledger and network.
    pub fn rival(&self) -> Reconciler {
        parts(&self.net, &self.ledger, self.net.rpc.clone(), 1).1
    }

    /// Accepts a payment of one lumen.
    pub async fn accept(&self, key: &str) -> SubmissionId {
        self.accept_of(key, "1").await
    }

    /// Accepts a payment of so many lumens.
    pub async fn accept_of(&self, key: &str, amount: &str) -> SubmissionId {
        let request = json!({
            "operation": {
                "type": "payment",
                "destination": payee().to_string(),
                "asset": "native",
                "amount": amount,
            },
        });
        let request = accept::parse(&request).unwrap();
        let (tenant, key) = ("acme".parse().unwrap(), key.parse().unwrap());
        let accepted = accept::accept(&self.ledger, &tenant, &key, &request);
        match accepted.await.unwrap() {
            Outcome::New(row) => row.id,
            other => panic!("the key is new: {other:?}"),
        }
    }

    /// Accepts and sends; the row as it stands after that.
    pub async fn send(&self, key: &str) -> Submission {
        let id = self.accept(key).await;
        self.submit(id).await;
        self.row(id).await
    }

    pub async fn submit(&self, id: SubmissionId) {
        assert_eq!(self.submitter.submit(id).await.unwrap(), Submitted::Sent);
    }

    /// Closes so many ledgers.
    pub fn close(&self, ledgers: u32) {
        for _ in 0..ledgers {
            self.net.close();
        }
    }

    /// Lets every envelope that is out expire.
    pub fn expire(&self, after_s: u64) {
        let at = self.net.closed_at() + TIMEOUT_S + CLOSE_S + after_s;
        self.net.node.close_ledger_at(at);
    }

    /// Looks at the chain and passes over the leases once.
    pub async fn pass(&self) -> Report {
        self.reconciler.look_at_chain().await.unwrap();
        self.reconciler.pass().await.unwrap()
    }

    /// Passes until the row is as wished. Scans run aside: a pass may come before their answer.
    pub async fn pass_until(&self, id: SubmissionId, wish: impl Fn(&Submission) -> bool) {
        let passing = async {
            loop {
                self.pass().await;
                if wish(&self.row(id).await) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let became = tokio::time::timeout(NEVER, passing).await;
        assert!(became.is_ok(), "stays as it is: {:?}", self.row(id).await);
    }

    /// Passes until it is noticed that the ledger was set back.
    pub async fn pass_until_stopped(&self) {
        let passing = async {
            while self.ledger.memory().await.unwrap().refusal().is_none() {
                self.pass().await;
                tokio::task::yield_now().await;
            }
        };
        let became = tokio::time::timeout(NEVER, passing).await;
        assert!(became.is_ok(), "nobody notices");
    }

    pub async fn row(&self, id: SubmissionId) -> Submission {
        self.ledger.submission(id).await.unwrap().unwrap()
    }

    pub async fn stands(&self, id: SubmissionId) -> (Status, Verdict) {
        let state = self.row(id).await.state;
        (state.status, state.verdict)
    }

    pub async fn channel(&self, account: AccountId) -> Channel {
        let channels = self.ledger.channels().await.unwrap();
        channels
            .into_iter()
            .find(|channel| channel.account == account)
            .unwrap()
    }

    /// Changes the ledger behind the service's back.
    pub async fn sql(&self, sql: &str) {
        let db = Database::connect(&self.database).await.unwrap();
        db.execute_unprepared(sql).await.unwrap();
        db.close().await.unwrap();
    }

    /// Successful transactions on the chain that pay the payee from the treasury.
    pub async fn payments(&self) -> usize {
        let transactions = self.net.rpc.transactions_from(2).await.unwrap();
        let ours = transactions.iter().filter(|seen| {
            seen.success
                && seen
                    .inspected
                    .operation
                    .as_ref()
                    .is_some_and(|(payer, _)| *payer == treasury().account())
        });
        ours.count()
    }
}

/// How long the answer to a send is waited for: no test needs a later one.
const SEND_TIMEOUT: Duration = Duration::from_secs(3);

/// Lifetime of an envelope.
pub const TIMEOUT_S: u64 = 120;

fn parts(net: &Net, ledger: &Ledger, rpc: Rpc, channels: u8) -> (Submitter, Reconciler) {
    let chain = Arc::new(Chain::default());
    chain.observe(Seen {
        ledger: 1,
        close_time: net.closed_at(),
    });
    let close = Duration::from_secs(CLOSE_S);
    let sender = Arc::new(Sender::new(
        ledger.clone(),
        rpc,
        Arc::clone(&chain),
        SendDelays {
            unknown: Duration::ZERO,
            ..SendDelays::new(close, NEVER)
        },
    ));
    let identity = Identity {
        network: net.id.clone(),
        treasury: treasury().account(),
    };
    let signers = (0..channels).map(channel).collect();
    let submitter = Submitter::new(
        ledger.clone(),
        Arc::clone(&sender),
        identity.clone(),
        KeyRing::new(treasury(), treasury().account(), signers).unwrap(),
        Arc::clone(&chain),
        SubmitSettings {
            base_fee: 100,
            max_fee: 10_000,
            confirmation_timeout_s: TIMEOUT_S,
        },
    );
    let settings = ReconcileSettings {
        interval: close,
        close_time: close,
        max_fee: 10_000,
    };
    let reconciler = Reconciler::new(
        ledger.clone(),
        sender,
        identity,
        treasury(),
        chain,
        settings,
    );
    (submitter, reconciler)
}

/// The hash that a look-up asks for.
pub fn asked_for(method: &str, params: &Value) -> Option<TxHash> {
    (method == "getTransaction").then(|| params["hash"].as_str().unwrap().parse().unwrap())
}

/// The answer of a node that has not indexed the hash.
pub fn not_found(node: &DevNode, params: &Value) -> Reply {
    let mut absent = params.clone();
    absent["hash"] = json!("00".repeat(32));
    match answer(node, "getTransaction", &absent) {
        Reply::Result(mut result) => {
            result["txHash"] = params["hash"].clone();
            Reply::Result(result)
        }
        other => other,
    }
}
