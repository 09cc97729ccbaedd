//! One run: some dozens of steps with faults, then none until everything is settled.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tender_devnet::faults::FaultPlan;
use tokio::runtime::Builder;

use crate::net::channel;
use crate::process::{Role, TIMEOUT_S};
use crate::promises::{self, Broken};
use crate::schedule::Step;
use crate::world::World;

/// Ledgers in which everything is settled once nothing goes wrong any more.
const ROUNDS: usize = 80;
/// After so many rounds a reconciler is started anew: scans that saw nothing are not repeated for a while.
const RESTART: usize = 8;

/// Bugs are planted in the whole process: one test at a time runs seeds, and begins without any.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    #[cfg(feature = "planted-bugs")]
    tender::flow::planted::plant(None);
    alone
}

/// Runs a seed; the hash of its trace.
pub fn run(seed: u64, told: bool) -> Result<u64, Broken> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let ran = runtime.block_on(async {
        let mut world = World::new(seed, told).await;
        let steps = world.chance.between(30, 80);
        let ran = run_through(&mut world, steps).await;
        ran.map(|()| world.trace.hash())
            .map_err(|broken| format!("{broken} (step {})", world.step))
    });
    runtime.shutdown_background();
    ran
}

async fn run_through(world: &mut World, steps: u64) -> Result<(), Broken> {
    let sharing = world.pool().shared;
    let start = if sharing {
        "start with one account"
    } else {
        "start"
    };
    world.look(start).await?;
    for _ in 0..steps {
        let step = world.next_step();
        world.carry_out(step).await?;
    }
    world.recover().await?;
    for round in 1..=ROUNDS {
        if promises::is_over(&world.view) {
            break;
        }
        world.round(round).await?;
    }
    // Time for whatever might still take effect.
    for after_s in [TIMEOUT_S + 30, 5] {
        world.carry_out(Step::Close { after_s }).await?;
    }
    world.verify_channels().await;
    world.look("end").await?;
    world.no_account_is_ahead().await?;
    promises::finally(&world.view, world.pool())
}

impl World {
    /// Nothing goes wrong any more: everybody starts anew, and what was on its way arrives.
    async fn recover(&mut self) -> Result<(), Broken> {
        self.calm = true;
        self.site.node.set_faults(FaultPlan::none());
        for process in 0..self.processes.len() {
            self.carry_out(Step::Crash { process }).await?;
        }
        while !self.wandering.is_empty() {
            self.carry_out(Step::Arrive).await?;
        }
        self.carry_out(Step::Close { after_s: 5 }).await
    }

    async fn round(&mut self, round: usize) -> Result<(), Broken> {
        self.verify_channels().await;
        for key in self.view.with_status("pending") {
            self.calmly(Role::Worker, |process| Step::Submit { process, key })
                .await?;
        }
        self.carry_out(Step::Close { after_s: 20 }).await?;
        self.calmly(Role::Reconciler, |process| Step::Pass { process })
            .await?;
        self.calmly(Role::Reconciler, |process| Step::LookUpLate { process })
            .await?;
        if round.is_multiple_of(RESTART) {
            let process = self.first(Role::Reconciler);
            self.carry_out(Step::Crash { process }).await?;
        }
        Ok(())
    }

    fn first(&self, role: Role) -> usize {
        let mut all = self.processes.iter();
        all.position(|process| process.role == role).unwrap()
    }

    async fn calmly(&mut self, role: Role, step: impl FnOnce(usize) -> Step) -> Result<(), Broken> {
        self.carry_out(step(self.first(role))).await
    }

    /// No payment waits for sequences that nobody is going to use.
    async fn no_account_is_ahead(&self) -> Result<(), Broken> {
        for number in 0..self.site.channels {
            let account = channel(number).account();
            let known = self.site.ledger.sequences(account).await.unwrap().unwrap();
            let next = self.next_sequence(account);
            if known.next > next {
                let (known, next) = (known.next & 0xffff, next & 0xffff);
                return Err(format!(
                    "channel {number} goes on at {known}, and the chain at {next}"
                ));
            }
        }
        Ok(())
    }

    /// Staff look at accounts that were set aside, and find them in order.
    async fn verify_channels(&self) {
        for number in 0..self.site.channels {
            let account = channel(number).account();
            let sequence = self.next_sequence(account) - 1;
            let ledger = &self.site.ledger;
            ledger
                .release_verified(account, sequence, "looked at")
                .await
                .unwrap();
        }
    }
}
