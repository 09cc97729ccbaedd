//! Random kills of everything, under load, while the network misbehaves.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use tender_devnet::faults::FaultPlan;

use crate::deployment::Deployment;
use crate::directed::NUMBERS;
use crate::load::Load;
use crate::stage::{End, Stage, count, ready};
use crate::steps::{Reached, everyday};
use crate::weather;

/// Processes at once.
const CAST: [(&str, Reached); 5] = [
    ("api", Reached::Api),
    ("worker", Reached::Worker),
    ("worker", Reached::Worker),
    ("reconciler", Reached::Reconciler),
    ("reconciler", Reached::Reconciler),
];
/// Milliseconds that a process lives before it is killed at a random moment.
const LIFE_MS: std::ops::Range<u64> = 50..2_500;
/// How long an armed process may take to its point before it is killed all the same.
const ARMED_LIFE: Duration = Duration::from_secs(6);
/// Times that an armed process passes its point before it dies there.
const PASSES: std::ops::Range<u32> = 0..4;
/// Milliseconds between two strikes at the servers.
const STRIKE_MS: std::ops::Range<u64> = 1_500..5_000;
/// Armed starts of a role after which a point that was not reached is a gap.
const MOST_STARTS: u64 = 3_000;

/// Kills until there were that many kills and every point of everyday work was met.
pub fn run(stage: &Stage, deployment: &mut Deployment, kills: u64) {
    deployment.node.set_faults(weather::storm(stage.seed));
    let payees = deployment.payees.clone();
    let load = Load::start(stage, &payees, NUMBERS);
    let over = AtomicBool::new(false);
    let servers = Mutex::new(&mut *deployment);
    thread::scope(|scope| {
        for (slot, (role, reached)) in CAST.into_iter().enumerate() {
            let (over, slot) = (&over, slot as u64);
            scope.spawn(move || {
                Slot::new(stage, role, reached, slot).run(over);
            });
        }
        scope.spawn(|| strike(stage, &servers, &over));
        wait_for_the_last(stage, &over, kills);
    });
    let fired = deployment.node.faults().rules;
    let fired = fired.iter().map(|rule| rule.fired).sum();
    stage.faults().fetch_add(fired, Ordering::Relaxed);
    deployment.node.set_faults(FaultPlan::none());
    let api = stage.role("api");
    load.stop(stage);
    drop(api);
}

fn wait_for_the_last(stage: &Stage, over: &AtomicBool, kills: u64) {
    let mut told = stage.kills().total();
    loop {
        thread::park_timeout(Duration::from_millis(200));
        let total = stage.kills().total();
        if total >= told + 50 {
            told = total;
            stage.say("of them so far");
        }
        let gaps = gaps(stage);
        if total >= kills && (gaps.is_empty() || total >= kills + MOST_STARTS) {
            over.store(true, Ordering::Relaxed);
            return;
        }
    }
}

/// Points of everyday work where nothing has died yet.
pub fn gaps(stage: &Stage) -> Vec<String> {
    let coverage = stage.coverage();
    [Reached::Api, Reached::Worker, Reached::Reconciler]
        .into_iter()
        .flat_map(everyday)
        .filter(|point| !coverage.contains_key(point))
        .collect()
}

/// One process after another of a role.
struct Slot<'a> {
    stage: &'a Stage,
    role: &'static str,
    points: Vec<String>,
    random: StdRng,
}

impl<'a> Slot<'a> {
    fn new(stage: &'a Stage, role: &'static str, reached: Reached, slot: u64) -> Self {
        Self {
            stage,
            role,
            points: everyday(reached),
            random: StdRng::seed_from_u64(stage.seed.wrapping_mul(1_000).wrapping_add(slot)),
        }
    }

    fn run(&mut self, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            let point = self.point();
            let launch = match &point {
                Some((point, passes)) => self.stage.armed(&[self.role], point, *passes),
                None => self.stage.launch(&[self.role]),
            };
            let mut process = launch.start();
            let life = if point.is_some() {
                ARMED_LIFE
            } else {
                let text = ready(self.role);
                process
                    .log()
                    .wait_for(|line| line.contains(text), ARMED_LIFE);
                Duration::from_millis(self.random.random_range(LIFE_MS))
            };
            if self.stage.live(&mut process, life) == End::Itself {
                // A server that is away is back soon.
                thread::park_timeout(Duration::from_millis(100));
            }
        }
    }

    /// Where the next process is to die: at points where none has died yet first, and at a random moment now and then.
    fn point(&mut self) -> Option<(String, u32)> {
        if self.random.random_ratio(1, 3) {
            return None;
        }
        let fresh: Vec<_> = {
            let coverage = self.stage.coverage();
            let fresh = self
                .points
                .iter()
                .filter(|point| !coverage.contains_key(*point));
            fresh.cloned().collect()
        };
        let (from, passes) = if fresh.is_empty() {
            (&self.points, self.random.random_range(PASSES))
        } else {
            (&fresh, 0)
        };
        Some((from.choose(&mut self.random)?.clone(), passes))
    }
}

/// Kills and empties the servers.
fn strike(stage: &Stage, servers: &Mutex<&mut Deployment>, over: &AtomicBool) {
    let mut random = StdRng::seed_from_u64(stage.seed ^ 0x5eed);
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(Duration::from_millis(random.random_range(STRIKE_MS)));
        let mut servers = servers.lock().unwrap();
        match random.random_range(0..6) {
            0 | 1 => {
                servers.postgres.kill9();
                count(&stage.kills().of_postgres);
                servers.postgres.start_again();
            }
            2 => {
                servers.redis.kill9();
                count(&stage.kills().of_redis);
                servers.redis.start_again();
            }
            3 => servers.redis.restart(),
            _ => {
                servers.redis.flushall();
                count(&stage.kills().flushes);
            }
        }
    }
}
