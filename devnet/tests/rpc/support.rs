//! A served node, a client for it, and transactions to send.

use crate::common::{Key, bumped, config, create, pay, root, signed, transaction};
use serde_json::{Value, json};
use std::time::Duration;
use stellar_xdr::{Limits, TransactionEnvelope, WriteXdr};
use tender_devnet::config::NetworkConfig;
use tender_devnet::node::{DevNode, Pace};
use tender_devnet::rpc::{FrontEnd, serve_front};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A node on a free port of the loopback interface; dropping it stops the server.
pub struct Served {
    pub node: DevNode,
    pub url: String,
    pub http: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
    server: Option<JoinHandle<std::io::Result<()>>>,
}

impl Served {
    /// A node whose ledgers the test closes.
    pub async fn by_hand() -> Self {
        Self::start(config(), Pace::ByHand).await
    }

    pub async fn start(config: NetworkConfig, pace: Pace) -> Self {
        Self::front(FrontEnd::new(DevNode::start(config, pace))).await
    }

    /// A way into a node that may have others.
    pub async fn front(front: FrontEnd) -> Self {
        let node = front.node().clone();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let serving = serve_front(front, listener, async {
            let _ = stopped.await;
        });
        let server = tokio::spawn(serving);
        Self {
            node,
            url,
            http: reqwest::Client::new(),
            stop: Some(stop),
            server: Some(server),
        }
    }

    /// Stops the server and waits until it has ended.
    pub async fn stop(mut self) {
        let _ = self.stop.take().unwrap().send(());
        let server = self.server.take().unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(10), server).await;
        ended.expect("the server ends").unwrap().unwrap();
    }

    /// Posts a body as it is.
    pub async fn post(&self, body: impl Into<reqwest::Body>) -> reqwest::Response {
        let post = self.http.post(&self.url).body(body);
        post.send().await.unwrap()
    }

    /// The whole answer to one call.
    pub async fn answer(&self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let response = self.post(request.to_string()).await;
        assert_eq!(response.status(), 200);
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["jsonrpc"], "2.0");
        assert_eq!(answer["id"], 7);
        answer
    }

    pub async fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Code and message of the error a call ends with.
    pub async fn error(&self, method: &str, params: Value) -> (i64, String) {
        let answer = self.answer(method, params).await;
        assert!(answer.get("result").is_none(), "{answer}");
        let error = &answer["error"];
        let message = error["message"].as_str().unwrap().to_owned();
        (error["code"].as_i64().unwrap(), message)
    }

    /// Sends an envelope; the answer.
    pub async fn send(&self, envelope: &TransactionEnvelope) -> Value {
        let params = json!({"transaction": base64(envelope)});
        self.call("sendTransaction", params).await
    }

    /// Sends an envelope that must be taken; its hash.
    pub async fn send_ok(&self, envelope: &TransactionEnvelope) -> String {
        let answer = self.send(envelope).await;
        assert_eq!(answer["status"], "PENDING", "{answer}");
        answer["hash"].as_str().unwrap().to_owned()
    }

    /// Creates accounts in one ledger; the hash of the transaction.
    pub async fn create(&self, sequence: i64, keys: &[&Key]) -> String {
        let operations: Vec<_> = keys.iter().map(|key| create(key, 1_000_000_000)).collect();
        let fee = 100 * u32::try_from(keys.len()).unwrap();
        let tx = transaction(&root(), sequence, fee, operations);
        let envelope = TransactionEnvelope::Tx(signed(&tx, &[&root()]));
        let hash = self.send_ok(&envelope).await;
        self.node.close_ledger();
        hash
    }
}

/// The root account pays one stroop to somebody.
pub fn payment(sequence: i64, to: &Key, amount: i64) -> TransactionEnvelope {
    let tx = transaction(&root(), sequence, 100, vec![pay(to, amount)]);
    TransactionEnvelope::Tx(signed(&tx, &[&root()]))
}

/// A payment of root in a fee-bump that root pays too.
pub fn bumped_payment(sequence: i64, to: &Key, amount: i64) -> TransactionEnvelope {
    let tx = transaction(&root(), sequence, 100, vec![pay(to, amount)]);
    bumped(&signed(&tx, &[&root()]), &root(), 400)
}

pub fn base64<T: WriteXdr>(value: &T) -> String {
    value.to_xdr_base64(Limits::none()).unwrap()
}

/// A value with the names of types in place of what is of that type; a list is described by its first item.
pub fn shape(value: &Value) -> Value {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "bool".into(),
        Value::Number(_) => "number".into(),
        Value::String(_) => "string".into(),
        Value::Array(items) => items.iter().take(1).map(shape).collect(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), shape(value)));
            Value::Object(fields.collect())
        }
    }
}
