//! A process's way to the network: HTTP on the loopback interface, behind which each call meets its fate.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use stellar_xdr::{
    Limits, TransactionResult, TransactionResultExt, TransactionResultResult, WriteXdr as _,
};
use tender::stellar::inspect::inspect;
use tender::stellar::network::NetworkId;
use tender_devnet::faults::{Fault, FaultPlan, Rule, When};
use tender_devnet::node::DevNode;
use tender_devnet::rpc::{Body, FrontEnd, Lost};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};

use crate::chance::Chance;
use crate::fate::{Fate, Mood};

/// One process's way to the network.
pub struct Front {
    pub url: String,
    shared: Arc<Shared>,
}

struct Shared {
    node: DevNode,
    network: NetworkId,
    state: Mutex<State>,
    stirred: Notify,
}

struct State {
    seed: u64,
    step: u64,
    mood: Mood,
    /// Calls of this step, by what they ask.
    asked: HashMap<String, u32>,
    held: BTreeMap<String, Held>,
    /// Requests that are being dealt with, those held apart.
    open: usize,
    calls: u64,
    /// The process has crashed: it hears nothing any more.
    dead: bool,
    told: Vec<String>,
}

struct Held {
    /// The envelope that is on its way, if the network has not seen it.
    request: Option<Vec<u8>>,
    let_go: oneshot::Sender<bool>,
}

impl Front {
    pub async fn start(node: &DevNode, network: &NetworkId, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            node: node.clone(),
            network: network.clone(),
            state: Mutex::new(State {
                seed,
                step: 0,
                mood: Mood::CALM,
                asked: HashMap::new(),
                held: BTreeMap::new(),
                open: 0,
                calls: 0,
                dead: false,
                told: Vec::new(),
            }),
            stirred: Notify::new(),
        });
        let serving = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Nothing lingers: a long run would use up the ports.
                stream.set_zero_linger().unwrap();
                let shared = Arc::clone(&serving);
                tokio::spawn(async move { serve(stream, &shared).await });
            }
        });
        Self { url, shared }
    }

    /// From now on, until the next step.
    pub fn in_step(&self, step: u64, mood: Mood) {
        let mut state = self.shared.state();
        state.step = step;
        state.mood = mood;
        state.asked.clear();
    }

    /// What became of the calls since the last time, in an order that does not depend on theirs.
    pub fn told(&self) -> Vec<String> {
        let mut told = std::mem::take(&mut self.shared.state().told);
        told.sort_unstable();
        told
    }

    /// Calls that are held back.
    pub fn held(&self) -> usize {
        self.shared.state().held.len()
    }

    /// Waits until more calls than those are held back.
    pub async fn holds_more_than(&self, calls: usize) {
        while self.held() <= calls {
            self.shared.stirred.notified().await;
        }
    }

    /// Calls so far, and whether one is being answered.
    pub fn activity(&self) -> (u64, bool) {
        let state = self.shared.state();
        (state.calls, state.open > 0)
    }

    /// Lets what is held go on, or loses it.
    pub fn let_go(&self, deliver: bool) {
        for held in std::mem::take(&mut self.shared.state().held).into_values() {
            // Whoever asked may be gone.
            let _ = held.let_go.send(deliver);
        }
    }

    /// The process is gone. Requests that were under way may still arrive.
    pub fn die(&self) -> Vec<Vec<u8>> {
        let mut state = self.shared.state();
        state.dead = true;
        std::mem::take(&mut state.held)
            .into_values()
            .filter_map(|held| held.request)
            .collect()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Notes a call, and decides about it.
    fn begin(&self, request: &[u8]) -> (String, Fate) {
        let request: Value = serde_json::from_slice(request).unwrap();
        let method = request["method"].as_str().unwrap();
        let params = &request["params"];
        let about = match method {
            "sendTransaction" => {
                let xdr = params["transaction"].as_str().unwrap();
                inspect(&self.network, xdr).unwrap().hash.to_string()
            }
            "getTransaction" => params["hash"].as_str().unwrap().to_owned(),
            _ => String::new(),
        };
        let mut state = self.state();
        let what = format!("{method} {}", &about[..about.len().min(8)]);
        let nth = state.asked.entry(what.clone()).or_default();
        *nth += 1;
        let name = format!("{what}#{nth}");
        let chance = Chance::about(state.seed, state.step, &name);
        let fate = Fate::of(state.mood, method, chance);
        state.calls += 1;
        state.open += 1;
        state.told.push(format!("{name} {fate:?}"));
        (name, fate)
    }

    fn answer(&self, request: &[u8], fault: Option<Fault>) -> Body {
        let rules = fault.map(|fault| Rule::call(fault, &[], When::Always));
        let plan = FaultPlan::ruled(0, rules.into_iter().collect()).unwrap();
        let front = FrontEnd::new(self.node.clone()).with_faults(plan);
        front.reply(request, None).body
    }

    /// The envelope is taken, and the answer is of a node that has not.
    fn refuse(&self, request: &[u8], asks: Option<i64>) -> Body {
        let Body::Answer(mut answer) = self.answer(request, None) else {
            panic!("a node answers");
        };
        let refusal = TransactionResult {
            fee_charged: asks.unwrap_or(0),
            result: match asks {
                Some(_) => TransactionResultResult::TxInsufficientFee,
                None => TransactionResultResult::TxBadSeq,
            },
            ext: TransactionResultExt::V0,
        };
        answer["result"]["status"] = "ERROR".into();
        answer["result"]["errorResultXdr"] = refusal.to_xdr_base64(Limits::none()).unwrap().into();
        Body::Answer(answer)
    }

    /// `None`: nothing is ever said.
    async fn deal_with(&self, request: Vec<u8>) -> Option<Body> {
        let (name, fate) = self.begin(&request);
        let early = match fate {
            Fate::Answered(fault) => return Some(self.answer(&request, fault)),
            Fate::TakenAndRefused { asks } => return Some(self.refuse(&request, asks)),
            Fate::RequestHeld => None,
            Fate::AnswerHeld => Some(self.answer(&request, None)),
        };
        let (let_go, gone_on) = oneshot::channel();
        {
            let mut state = self.state();
            state.open -= 1;
            let sends = name.starts_with("sendTransaction");
            let request = (sends && early.is_none()).then(|| request.clone());
            state.held.insert(name, Held { request, let_go });
        }
        self.stirred.notify_one();
        let deliver = gone_on.await.ok()?;
        self.state().open += 1;
        Some(match (deliver, early) {
            (false, _) => Body::Lost(Lost::Reset),
            (true, Some(answer)) => answer,
            (true, None) => self.answer(&request, None),
        })
    }
}

async fn serve(stream: TcpStream, shared: &Shared) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read_request(&mut stream).await {
        if shared.state().dead {
            return std::future::pending().await;
        }
        let Some(body) = shared.deal_with(request).await else {
            return std::future::pending().await;
        };
        if shared.state().dead {
            return std::future::pending().await;
        }
        let (status, text) = match body {
            Body::Answer(answer) => (200, answer.to_string()),
            Body::Text(text) => (200, text),
            Body::Nothing => (200, String::new()),
            Body::Lost(Lost::Status(status)) => (status, String::new()),
            Body::Lost(Lost::Reset | Lost::Hang) => {
                shared.state().open -= 1;
                return;
            }
        };
        let length = text.len();
        let answer = format!("HTTP/1.1 {status} Told\r\ncontent-length: {length}\r\n\r\n{text}");
        // The client may have given up.
        let _ = stream.get_mut().write_all(answer.as_bytes()).await;
        shared.state().open -= 1;
    }
}

/// The next request of the connection, or `None` at its end.
async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(body)
}
