//! A flood that nobody works on waits in SQL, where it is cheap; Redis holds a bounded window of it.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use tender::flow::accept::{self, Outcome};
use tokio::task::block_in_place;

use crate::{
    client::Payment,
    deployment::{Deployment, TENANT},
    waiting::{until, when},
};

const DUE: u32 = 20_000;
/// Of these, as many are waited for: two cores with unoptimised programs take minutes for all of them. `FLOOD_DRAINED=20000`
/// with `--profile long` waits for all.
const DRAINED: u64 = 2_000;
const CHANNELS: u32 = 300;
const LOOKS_FOR_A_COUNT: u32 = 20;
/// Longest time for so many.
const PATIENCE: Duration = Duration::from_secs(280);
/// Acceptances under way at once: they share commits.
const ACCEPTING: usize = 512;
/// Three keys a lane, and as many again for the moment in which one replaces another.
const MOST_KEYS: u64 = 10;
/// Jobs that two workers may run at once, beside the window.
const RUNNING: u64 = 2 * 32;
/// Jobs of a full window, generously.
const MOST_MEMORY: u64 = 2 * 1024 * 1024;

/// Takes payments in through the library, as the API does.
async fn accept_all(deployment: &Deployment, payments: &[Payment]) {
    let tenant = TENANT.parse().unwrap();
    stream::iter(payments)
        .map(|payment| {
            let (ledger, tenant) = (&deployment.ledger, &tenant);
            let request = accept::parse(&payment.request()).unwrap();
            async move {
                let accepted = accept::accept(ledger, tenant, &payment.key(), &request).await;
                assert!(matches!(accepted.unwrap(), Outcome::New(_)));
            }
        })
        .buffer_unordered(ACCEPTING)
        .collect::<()>()
        .await;
}

/// The most that Redis held at any look.
#[derive(Debug, Default)]
struct Most {
    looks: u32,
    keys: u64,
    waiting: u64,
    memory: u64,
}

impl Most {
    fn look(&mut self, deployment: &Deployment) {
        self.looks += 1;
        self.keys = self.keys.max(deployment.redis.key_count());
        let waiting = deployment
            .redis
            .ask(redis::cmd("HLEN").arg("tender:normal:jobs"));
        self.waiting = self.waiting.max(waiting);
        self.memory = self.memory.max(deployment.redis.memory());
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "settings of the tests are not the service's"
)]
fn drained() -> u64 {
    std::env::var("FLOOD_DRAINED").map_or(DRAINED, |count| count.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_thousand_due_payments_drain_through_a_bounded_window() {
    let drained = drained();
    let patience = PATIENCE * u32::try_from(drained.div_ceil(DRAINED)).unwrap();
    let deployment = Deployment::start(CHANNELS).await;
    let empty = block_in_place(|| deployment.redis.memory());
    let payments = deployment.payments(0..DUE);
    let began = Instant::now();
    accept_all(&deployment, &payments).await;
    println!("{DUE} accepted in {:.1?}", began.elapsed());
    assert_eq!(
        deployment.counts().await.unwrap()["pending"],
        u64::from(DUE)
    );
    assert_eq!(block_in_place(|| deployment.redis.key_count()), 0);
    let began = Instant::now();
    let _reconcilers = deployment.reconcilers(1);
    let _workers = deployment.workers(2);
    let mut most = Most::default();
    until("the flood to drain", patience, async || {
        block_in_place(|| most.look(&deployment));
        // Counting reads all rows, which would slow down what is measured.
        when(most.looks.is_multiple_of(LOOKS_FOR_A_COUNT), "not counted")?;
        let counts = deployment.counts().await.unwrap_or_default();
        when(
            counts.get("confirmed").copied().unwrap_or(0) >= drained,
            counts,
        )
    })
    .await;
    let took = began.elapsed();
    let figures = deployment.figures(&payments);
    let ledgers = deployment.audit().by_ledger();
    println!(
        "{drained} of {DUE} confirmed in {took:.1?}: {:.0}/s",
        drained as f64 / took.as_secs_f64()
    );
    println!(
        "{} ledgers with work, most in one {:?}",
        ledgers.len(),
        ledgers.values().max()
    );
    println!("Redis: {empty} bytes empty, then {most:?}; {figures:?}");
    println!("calls: {:?}", deployment.node.calls());
    assert_eq!(
        (figures.doubled, figures.wrong, figures.strangers),
        (0, 0, 0)
    );
    assert!(u64::try_from(figures.effects).unwrap() >= drained);
    assert!(most.keys <= MOST_KEYS, "{most:?}");
    assert!(most.waiting <= u64::from(CHANNELS) + RUNNING, "{most:?}");
    assert!(most.memory < empty + MOST_MEMORY, "{empty}: {most:?}");
}
