//! Callers, who push keys again and again until they are accepted, some of them twice at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tender::domain::ids::AccountId;
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::client::{Client, Payment};
use crate::stage::Stage;

/// Callers at once.
const CALLERS: usize = 4;
/// Pause of a caller between two keys.
const PAUSE: Duration = Duration::from_millis(80);
/// Pause before a push that was not accepted is made again.
const AGAIN: Duration = Duration::from_millis(50);
/// Rows that may wait before callers hold back.
const MOST_OPEN: u64 = 120;

/// What was accepted so far. Clones share it.
#[derive(Clone, Default)]
pub struct Accepted(Arc<Mutex<Book>>);

/// Answers to all pushes.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// What was accepted, by number.
    pub rows: BTreeMap<u32, Row>,
    /// Requests by status; 0 stands for no answer at all.
    pub answers: BTreeMap<u16, u64>,
    /// What must not be answered.
    pub wrong: Vec<String>,
}

/// An accepted key.
#[derive(Clone, Debug)]
pub struct Row {
    pub id: String,
    pub payment: Payment,
}

impl Accepted {
    pub fn book(&self) -> Book {
        self.0.lock().unwrap().clone()
    }

    fn note(&self, payment: Payment, answer: Option<(u16, Value)>) -> Option<String> {
        let mut book = self.0.lock().unwrap();
        let status = answer.as_ref().map_or(0, |(status, _)| *status);
        *book.answers.entry(status).or_default() += 1;
        let (status, body) = answer?;
        let id = body["id"].as_str().map(str::to_owned);
        match (status, id) {
            (200..300, Some(id)) => {
                let row = Row {
                    id: id.clone(),
                    payment,
                };
                let before = book.rows.insert(payment.number, row);
                if let Some(before) = before.filter(|before| before.id != id) {
                    book.wrong
                        .push(format!("one key, two rows: {} and {id}", before.id));
                }
                Some(id)
            }
            (429 | 500..600, _) => None,
            (status, _) => {
                book.wrong.push(format!(
                    "payment {} was answered {status}: {body}",
                    payment.number
                ));
                Some(String::new())
            }
        }
    }

    /// Pushes until it is accepted.
    pub async fn push(&self, client: &Client, payment: Payment) -> String {
        let mut again = interval(AGAIN);
        loop {
            again.tick().await;
            let answer = client.try_push(payment).await;
            if let Some(id) = self.note(payment, answer) {
                return id;
            }
        }
    }
}

/// Callers at work until they are stopped.
pub struct Load {
    stop: Arc<AtomicBool>,
    callers: JoinSet<()>,
}

impl Load {
    /// Starts callers whose first key has that number.
    pub fn start(stage: &Stage, payees: &[AccountId], first: u32) -> Self {
        let _in_runtime = stage.runtime.enter();
        let (stop, next) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU32::new(first)),
        );
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let (stop, next, payees) = (Arc::clone(&stop), Arc::clone(&next), payees.to_vec());
            let (accepted, ledger, client) =
                (stage.accepted.clone(), stage.ledger.clone(), stage.client());
            callers.spawn(async move {
                let mut pause = interval(PAUSE);
                while !stop.load(Ordering::Relaxed) {
                    pause.tick().await;
                    let open = ledger.counts().await.map_or(u64::MAX, |counts| {
                        let open = counts.iter().filter(|(status, ..)| !status.is_terminal());
                        open.map(|(.., count)| *count).sum()
                    });
                    if open > MOST_OPEN {
                        continue;
                    }
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let to = payees[number as usize % payees.len()];
                    let payment = Payment { number, to };
                    let once = accepted.push(&client, payment);
                    if number.is_multiple_of(3) {
                        tokio::join!(once, accepted.push(&client, payment));
                    } else {
                        once.await;
                    }
                }
            });
        }
        Self { stop, callers }
    }

    /// Waits until what was begun is accepted; an api has to run.
    pub fn stop(mut self, stage: &Stage) {
        self.stop.store(true, Ordering::Relaxed);
        stage.wait(async {
            while let Some(done) = self.callers.join_next().await {
                done.expect("callers do not panic");
            }
        });
    }
}
