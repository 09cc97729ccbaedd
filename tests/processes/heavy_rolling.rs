//! Every process is replaced, one after the other, while payments are pushed and paid.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{task::block_in_place, time::interval};
use tokio_util::sync::CancellationToken;

use crate::{
    client::{Client, Payment},
    deployment::{Api, Deployment},
    support::{port, process::Process},
    waiting::{until, when},
};

const CLIENTS: usize = 4;
/// Pause of a client between two pushes.
const PACE: Duration = Duration::from_millis(250);
/// Payments accepted between two restarts.
const BETWEEN: u32 = 10;
const PATIENCE: Duration = Duration::from_secs(120);

/// Callers who push one payment after another, each to the next api when one refuses.
struct Callers {
    stop: CancellationToken,
    accepted: Arc<AtomicU32>,
    answers: Arc<Mutex<BTreeMap<u16, u64>>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Callers {
    fn start(deployment: &Deployment, urls: &[String]) -> Self {
        let stop = CancellationToken::new();
        let (next, accepted) = (Arc::new(AtomicU32::new(0)), Arc::<AtomicU32>::default());
        let answers = Arc::<Mutex<BTreeMap<_, _>>>::default();
        let payees = Arc::new(deployment.payees.clone());
        let callers = (0..CLIENTS).map(|caller| {
            let mut apis: Vec<_> = urls
                .iter()
                .map(|url| Client::new(url, &deployment.token))
                .collect();
            // Callers prefer different ones.
            apis.rotate_left(caller % urls.len());
            let (stop, next, payees) = (stop.clone(), Arc::clone(&next), Arc::clone(&payees));
            let (accepted, answers) = (Arc::clone(&accepted), Arc::clone(&answers));
            tokio::spawn(async move {
                let mut pace = interval(PACE);
                while !stop.is_cancelled() {
                    pace.tick().await;
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let to = payees[number as usize % payees.len()];
                    push(&apis, Payment { number, to }, &answers).await;
                    accepted.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        Self {
            tasks: callers.collect(),
            stop,
            accepted,
            answers,
        }
    }

    async fn accept(&self, more: u32) {
        let before = self.accepted.load(Ordering::Relaxed);
        until("pushes to be accepted", PATIENCE, async || {
            let accepted = self.accepted.load(Ordering::Relaxed);
            when(accepted >= before + more, accepted)
        })
        .await;
    }

    /// How many payments were pushed, and what was answered.
    async fn done(self) -> (u32, BTreeMap<u16, u64>) {
        self.stop.cancel();
        for task in self.tasks {
            task.await.unwrap();
        }
        let answers = self.answers.lock().unwrap().clone();
        (self.accepted.load(Ordering::Relaxed), answers)
    }
}

/// Asks each api once. While only one of them is replaced at a time, one of them accepts.
async fn push(apis: &[Client], payment: Payment, answers: &Mutex<BTreeMap<u16, u64>>) {
    let mut refused = Vec::new();
    for api in apis {
        let status = api.try_push(payment).await.map_or(0, |(status, _)| status);
        *answers.lock().unwrap().entry(status).or_default() += 1;
        if (200..300).contains(&status) {
            return;
        }
        assert!([0, 503].contains(&status), "{payment:?}: {status}");
        refused.push(status);
    }
    panic!("{payment:?} was refused everywhere: {refused:?}");
}

fn end(process: &mut Process) {
    let status = block_in_place(|| process.terminate());
    assert_eq!(status.code(), Some(0), "{}", process.log().tail());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacing_every_process_in_turn_refuses_no_caller_and_orphans_no_payment() {
    let mut deployment = Deployment::start(10).await;
    let mut apis: Vec<Api> = Vec::new();
    let mut binds = Vec::new();
    for _ in 0..2 {
        binds.push(format!("127.0.0.1:{}", port::free()));
        deployment
            .settings
            .insert("HTTP_BIND", binds[binds.len() - 1].clone());
        apis.push(deployment.api());
    }
    let urls: Vec<_> = apis.iter().map(|api| api.url.clone()).collect();
    let mut workers = deployment.workers(2);
    let mut reconcilers = deployment.reconcilers(2);
    let callers = Callers::start(&deployment, &urls);
    for (n, bind) in binds.iter().enumerate() {
        callers.accept(BETWEEN).await;
        end(&mut workers[n]);
        workers[n] = deployment.workers(1).remove(0);
        callers.accept(BETWEEN).await;
        end(&mut reconcilers[n]);
        reconcilers[n] = deployment.reconcilers(1).remove(0);
        callers.accept(BETWEEN).await;
        end(&mut apis[n].process);
        deployment.settings.insert("HTTP_BIND", bind.clone());
        apis[n] = deployment.api();
    }
    callers.accept(BETWEEN).await;
    let (pushed, answers) = callers.done().await;
    deployment.confirmed(u64::from(pushed), PATIENCE).await;
    let figures = deployment
        .assert_paid_once(&deployment.payments(0..pushed))
        .await;
    println!("answers {answers:?}; {figures:?}");
    // Two marks stay: whether the server lost its jobs, and how far the ledger's memory reached.
    let mark = |key: &String| key == "tender:mark" || key.starts_with("tender:reached:");
    until("the queue to be empty", PATIENCE, async || {
        let keys = block_in_place(|| deployment.redis.keys("*"));
        when(keys.iter().all(mark), keys)
    })
    .await;
}
