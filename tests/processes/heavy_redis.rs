//! Redis forgets everything, or dies, while payments are under way. It held hints only.

use std::time::{Duration, Instant};

use tokio::task::block_in_place;

use crate::{
    client::Payment,
    deployment::{Api, Deployment},
    probing::{missing, probes, ready},
    support::{process::Process, proxy::Weather, redis::Redis},
    waiting::{until, when},
};

const PAYMENTS: u32 = 200;
const CLIENTS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs payments, and at each quarter of them lets `strike` do what it does to Redis.
async fn run(what: &str, mut strike: impl AsyncFnMut(&mut Deployment)) {
    let mut deployment = Deployment::start(12).await;
    let mut api = deployment.api();
    let mut workers = deployment.workers(2);
    let mut reconcilers = deployment.reconcilers(1);
    let payments = deployment.payments(0..PAYMENTS);
    let began = Instant::now();
    let load = deployment.load(&api, payments.clone(), 1, CLIENTS).start();
    let mut keys = Vec::new();
    for quarter in 1..4 {
        let confirmed = u64::from(quarter * PAYMENTS / 4);
        deployment.confirmed(confirmed, PATIENCE).await;
        keys.push(block_in_place(|| deployment.redis.key_count()));
        strike(&mut deployment).await;
    }
    let tally = load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let took = began.elapsed();
    let figures = deployment.assert_paid_once(&payments).await;
    println!(
        "{what} 3 times ({keys:?} keys then); pushes answered {:?}",
        tally.answers
    );
    println!("all confirmed after {took:.1?}; {figures:?}");
    assert!(api.process.is_running());
    assert!(
        workers
            .iter_mut()
            .chain(&mut reconcilers)
            .all(Process::is_running)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn flushall_in_the_middle_loses_no_payment_and_pays_none_twice() {
    run("FLUSHALL", async |deployment| {
        block_in_place(|| deployment.redis.flushall());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_killed_and_back_empty_loses_no_payment_and_pays_none_twice() {
    run("Redis killed, and started empty", async |deployment| {
        block_in_place(|| {
            deployment.redis.kill9();
            deployment.redis.start_again();
        });
    })
    .await;
}

/// Above the longest time that readiness waits for an answer.
const LATE: Duration = Duration::from_millis(2_200);

/// Every role, with probes of a worker.
struct Roles {
    api: Api,
    workers: Vec<Process>,
    reconcilers: Vec<Process>,
    probes: String,
}

impl Roles {
    async fn start(deployment: &Deployment) -> Self {
        let workers = deployment.workers(2);
        let roles = Self {
            api: deployment.api(),
            probes: probes(&workers[0]),
            reconcilers: deployment.reconcilers(1),
            workers,
        };
        ready(&roles.probes).await;
        roles
    }

    /// Waits until a worker tells that the queue is what it lacks, and nothing else.
    async fn miss_the_queue(&self) {
        until("the queue to be missed", PATIENCE, async || {
            let names: Vec<_> = missing(&self.probes).into_iter().map(|it| it.0).collect();
            when(names == ["/queue"], names)
        })
        .await;
    }

    /// The end of a test: everything is paid once, and by the processes that were there from the start.
    async fn finish(mut self, deployment: &Deployment, payments: &[Payment]) {
        ready(&self.probes).await;
        let rows = u64::try_from(payments.len()).unwrap();
        deployment.confirmed(rows, PATIENCE).await;
        println!("{:?}", deployment.assert_paid_once(payments).await);
        let others = self.workers.iter_mut().chain(&mut self.reconcilers);
        assert!(
            others
                .chain([&mut self.api.process])
                .all(Process::is_running)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_two_seconds_late_slows_payments_and_ends_no_worker() {
    let mut deployment = Deployment::start_with(12, &[("PROBE_BIND", "127.0.0.1:0")]).await;
    let redis = deployment.proxy_redis().await;
    let roles = Roles::start(&deployment).await;
    let payments = deployment.payments(0..PAYMENTS);
    let all = payments.clone();
    let load = deployment.load(&roles.api, all, 1, CLIENTS).start();
    let quarter = u64::from(PAYMENTS / 4);
    deployment.confirmed(quarter, PATIENCE).await;
    redis.set(Weather::Late(LATE));
    roles.miss_the_queue().await;
    let answers = load.done().await.answers;
    assert_eq!(
        answers.keys().collect::<Vec<_>>(),
        [&202],
        "accepting needs no queue"
    );
    let so_far = deployment.counts().await.unwrap()["confirmed"];
    deployment.confirmed(so_far + 4, PATIENCE).await;
    redis.set(Weather::Fair);
    roles.finish(&deployment, &payments).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_demoted_to_a_replica_and_promoted_again_is_used_again() {
    let deployment = Deployment::start_with(12, &[("PROBE_BIND", "127.0.0.1:0")]).await;
    let master = block_in_place(Redis::start);
    let roles = Roles::start(&deployment).await;
    let payments = deployment.payments(0..PAYMENTS);
    let (first, second) = payments.split_at(payments.len() / 2);
    let replicate = |from: &str, port: &str| {
        let mut replicate = redis::cmd("REPLICAOF");
        replicate.arg(from).arg(port);
        block_in_place(|| deployment.redis.ask::<()>(&replicate));
    };
    let load = deployment
        .load(&roles.api, first.to_vec(), 1, CLIENTS)
        .start();
    let quarter = u64::from(PAYMENTS / 4);
    deployment.confirmed(quarter, PATIENCE).await;
    replicate("127.0.0.1", &master.port().to_string());
    roles.miss_the_queue().await;
    load.done().await;
    let load = deployment
        .load(&roles.api, second.to_vec(), 1, CLIENTS)
        .start();
    let answers = load.done().await.answers;
    assert_eq!(
        answers.keys().collect::<Vec<_>>(),
        [&202],
        "accepting needs no queue"
    );
    replicate("NO", "ONE");
    roles.finish(&deployment, &payments).await;
}
