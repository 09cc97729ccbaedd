//! PostgreSQL crashes and recovers, cuts connections and loses answers while payments are pushed and paid.

use std::time::{Duration, Instant};

use tokio::task::block_in_place;

use crate::{
    deployment::Deployment,
    support::{process::Process, proxy::Weather},
    waiting::{until, when},
};

const PAYMENTS: u32 = 240;
const CLIENTS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crash_of_postgres_loses_nothing_accepted_and_pays_nothing_twice() {
    let mut deployment = Deployment::start(12).await;
    let mut api = deployment.api();
    let mut others = deployment.workers(2);
    others.extend(deployment.reconcilers(2));
    let payments = deployment.payments(0..PAYMENTS);
    let began = Instant::now();
    let load = deployment.load(&api, payments.clone(), 2, CLIENTS).start();
    let mut outages = Vec::new();
    for third in 1..3 {
        until("pushes to be accepted", PATIENCE, async || {
            let accepted = load.so_far().accepted();
            when(accepted >= u64::from(third * PAYMENTS / 3), accepted)
        })
        .await;
        let down = Instant::now();
        let before = load.so_far();
        block_in_place(|| deployment.postgres.kill9());
        until("a caller to notice", PATIENCE, async || {
            let now = load.so_far();
            when(now.put_off() > before.put_off(), now.answers)
        })
        .await;
        block_in_place(|| deployment.postgres.start_again());
        let counts = deployment.counts().await;
        outages.push((before.accepted(), down.elapsed(), counts));
    }
    let tally = load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let took = began.elapsed();
    let figures = deployment.assert_paid_once(&payments).await;
    assert_eq!(tally.ids.len(), payments.len());
    let known = [0, 200, 202, 503];
    assert!(
        tally.answers.keys().all(|status| known.contains(status)),
        "{:?}",
        tally.answers
    );
    println!("crashes (pushes accepted before, outage, rows after): {outages:?}");
    println!(
        "answers {:?}; all confirmed after {took:.1?}; {figures:?}",
        tally.answers
    );
    assert!(api.process.is_running());
    assert!(others.iter_mut().all(Process::is_running));
}

/// Times that all connections are cut.
const CUTS: u64 = 20;
/// One of so many answers to a commit is lost.
const LOST: u64 = 5;

/// Runs payments with all roles, while `strike` does what it does to PostgreSQL; then everything is paid once, by the
/// processes that were there from the start.
async fn run(what: &str, deployment: &Deployment, strike: impl AsyncFnOnce()) {
    let mut processes = deployment.workers(2);
    processes.extend(deployment.reconcilers(2));
    let api = deployment.api();
    let payments = deployment.payments(0..PAYMENTS);
    let load = deployment.load(&api, payments.clone(), 2, CLIENTS).start();
    strike().await;
    let tally = load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    let figures = deployment.assert_paid_once(&payments).await;
    println!("{what}: answers {:?}; {figures:?}", tally.answers);
    assert_eq!(tally.ids.len(), payments.len());
    let known = [0, 200, 202, 503];
    assert!(
        tally.answers.keys().all(|status| known.contains(status)),
        "{:?}",
        tally.answers
    );
    processes.push(api.process);
    assert!(processes.iter_mut().all(Process::is_running));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cutting_all_connections_again_and_again_loses_nothing_and_pays_nothing_twice() {
    let deployment = Deployment::start(12).await;
    // The test's own among them.
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE application_name = 'tender' AND datname = current_database()";
    run("connections cut", &deployment, async || {
        let mut ended = 0;
        for turn in 1..=CUTS {
            let next = turn * u64::from(PAYMENTS) / (CUTS + 1);
            deployment.confirmed(next, PATIENCE).await;
            let cut = deployment.postgres.psql(&deployment.database, cut);
            ended += cut.parse::<u64>().unwrap();
        }
        println!("{CUTS} times, {ended} connections");
        assert!(ended > CUTS, "{ended}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commits_whose_answers_are_lost_lose_nothing_and_pay_nothing_twice() {
    let mut deployment = Deployment::start(12).await;
    let proxy = deployment.proxy_postgres().await;
    run("answers lost", &deployment, async || {
        proxy.set(Weather::LosesAnswers {
            to: b"COMMIT",
            one_in: LOST,
        });
        let most = u64::from(PAYMENTS * 3 / 4);
        deployment.confirmed(most, PATIENCE).await;
        proxy.set(Weather::Fair);
        println!("{} answers to commits were lost", proxy.lost());
        assert!(proxy.lost() > CUTS, "{}", proxy.lost());
    })
    .await;
}
