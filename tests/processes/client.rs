//! Callers of the API, who do what callers do: push under a key, and push again when the answer is lost.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use tender::domain::{
    ids::AccountId,
    key::{IdempotencyKey, KeyTag},
};
use tokio::time::interval;

use crate::{audit::Expected, deployment::TENANT, waiting::LOOK};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Requests of one push before the test gives up.
const MOST_TRIES: u32 = 2_000;

/// Payment number `n` of a test: its key, its amount and its payee follow from the number.
#[derive(Debug, Clone, Copy)]
pub struct Payment {
    pub number: u32,
    pub to: AccountId,
}

impl Payment {
    pub fn key(self) -> IdempotencyKey {
        format!("payment-{}", self.number).parse().unwrap()
    }

    pub fn expected(self) -> Expected {
        Expected {
            tag: KeyTag::of(&TENANT.parse().unwrap(), &self.key()),
            to: self.to,
            amount: i64::from(self.number) + 1,
        }
    }

    pub fn request(self) -> Value {
        let stroops = self.number + 1;
        json!({
            "business_ref": format!("invoice-{}", self.number),
            "operation": {
                "type": "payment",
                "destination": self.to.to_string(),
                "asset": "native",
                "amount": format!("{}.{:07}", stroops / 10_000_000, stroops % 10_000_000),
            },
        })
    }
}

/// One HTTP client with one API key.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
}

/// What the requests of many pushes were answered.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests by status; 0 stands for no answer at all.
    pub answers: BTreeMap<u16, u64>,
    /// Identities by number.
    pub ids: BTreeMap<u32, String>,
}

impl Client {
    pub fn new(url: &str, token: &str) -> Self {
        Self {
            http: reqwest::Client::builder()
                .timeout(PATIENCE)
                .build()
                .unwrap(),
            url: url.to_owned(),
            token: token.to_owned(),
        }
    }

    /// One request; `None` when no answer came.
    pub async fn try_push(&self, payment: Payment) -> Option<(u16, Value)> {
        let request = self
            .http
            .post(format!("{}/transactions", self.url))
            .bearer_auth(&self.token)
            .header("Idempotency-Key", payment.key().as_str())
            .json(&payment.request());
        answer(request).await
    }

    /// Pushes until it is accepted, and returns the transaction's identity.
    pub async fn push(&self, payment: Payment) -> String {
        let tally = Mutex::default();
        self.push_counted(payment, &tally).await
    }

    async fn push_counted(&self, payment: Payment, tally: &Mutex<Tally>) -> String {
        let mut again = interval(LOOK);
        for _ in 0..MOST_TRIES {
            let answer = self.try_push(payment).await;
            let status = answer.as_ref().map_or(0, |(status, _)| *status);
            *tally.lock().unwrap().answers.entry(status).or_default() += 1;
            match answer {
                Some((200..300, body)) => {
                    let id = body["id"].as_str().unwrap().to_owned();
                    let before = tally.lock().unwrap().ids.insert(payment.number, id.clone());
                    assert!(
                        before.is_none_or(|before| before == id),
                        "one key, two transactions"
                    );
                    return id;
                }
                Some((400..500, body)) if status != 429 => {
                    panic!("refused with {status}: {body}")
                }
                Some(_) | None => {
                    again.tick().await;
                }
            }
        }
        panic!("payment {} was never accepted", payment.number);
    }

    /// Asks staff's way: `requeue` or `cancel`.
    pub async fn act(&self, id: &str, verb: &str) -> (u16, Value) {
        let request = self
            .http
            .post(format!("{}/admin/transactions/{id}/{verb}", self.url))
            .bearer_auth(&self.token)
            .json(&json!({ "reason": "the test asks" }));
        answer(request).await.expect("an answer")
    }

    pub async fn read(&self, id: &str) -> Value {
        let request = self
            .http
            .get(format!("{}/transactions/{id}", self.url))
            .bearer_auth(&self.token);
        answer(request).await.expect("an answer").1
    }
}

async fn answer(request: reqwest::RequestBuilder) -> Option<(u16, Value)> {
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    let body = response.bytes().await.ok()?;
    Some((status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Several clients that push the same payments `times` times each, all copies of one at about the same moment.
pub struct Load {
    pub clients: Vec<Client>,
    pub payments: Vec<Payment>,
    pub times: usize,
}

impl Load {
    /// Starts pushing.
    pub fn start(self) -> Pushing {
        let tally = Arc::new(Mutex::new(Tally::default()));
        let shared = Arc::clone(&tally);
        let task = tokio::spawn(async move {
            let mut copies = Vec::new();
            for payment in self.payments {
                copies.extend(std::iter::repeat_n(payment, self.times));
            }
            let at_once = self.clients.len();
            stream::iter(copies.into_iter().enumerate())
                .map(|(turn, payment)| {
                    let (client, tally) = (&self.clients[turn % at_once], &shared);
                    async move {
                        client.push_counted(payment, tally).await;
                    }
                })
                .buffer_unordered(at_once)
                .collect::<()>()
                .await;
        });
        Pushing { task, tally }
    }
}

/// Pushes under way.
pub struct Pushing {
    task: tokio::task::JoinHandle<()>,
    tally: Arc<Mutex<Tally>>,
}

impl Pushing {
    /// What was answered so far.
    pub fn so_far(&self) -> Tally {
        self.tally.lock().unwrap().clone()
    }

    /// Waits until everything was accepted.
    pub async fn done(self) -> Tally {
        self.task.await.unwrap();
        self.tally.lock().unwrap().clone()
    }
}

impl Tally {
    /// Pushes that were accepted.
    pub fn accepted(&self) -> u64 {
        self.count(|status| (200..300).contains(&status))
    }

    /// Requests that were not: told to come again, or not answered.
    pub fn put_off(&self) -> u64 {
        self.count(|status| status == 0 || status == 503)
    }

    fn count(&self, which: impl Fn(u16) -> bool) -> u64 {
        let counted = self.answers.iter().filter(|(status, _)| which(**status));
        counted.map(|(_, count)| count).sum()
    }
}
