//! Which step is next.

use crate::process::Role;
use crate::world::World;

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A key is posted, perhaps again.
    Accept(usize),
    /// A worker takes a row.
    Submit { process: usize, key: String },
    /// A worker claims a row and dies.
    ClaimAndDie { key: String },
    /// A reconciler looks at the chain and passes over the leases.
    Pass { process: usize },
    /// It looks rows of unknown outcome up.
    LookUpLate { process: usize },
    /// What a process waits for goes on, or is lost.
    LetGo { process: usize, deliver: bool },
    /// A process dies where it stands, and starts anew.
    Crash { process: usize },
    /// An envelope of a process that is gone arrives.
    Arrive,
    /// A ledger closes, so many seconds after the last one.
    Close { after_s: u64 },
    /// Ledgers go wrong from now on.
    Weather,
    /// The caller cancels.
    Cancel(String),
    /// Staff requeue.
    Requeue(String),
    /// Somebody else uses a channel account's next sequence.
    Foreign { channel: u8 },
}

impl World {
    /// The next step, of those that are possible.
    pub fn next_step(&mut self) -> Step {
        let kinds = self.possible();
        let kind = self.chance.weighted(&kinds);
        kind(self)
    }

    fn possible(&self) -> Vec<(u64, fn(&mut Self) -> Step)> {
        let fresh = self.keys.iter().any(|key| key.id.is_none());
        let pending = self.view.rows.iter().any(|row| row.status == "pending");
        let failed = self.view.rows.iter().any(|row| row.status == "failed");
        let indeterminate = self.view.rows.iter().any(|row| row.is_indeterminate());
        let held = self
            .processes
            .iter()
            .any(|process| process.front.held() > 0);
        let mut kinds: Vec<(u64, fn(&mut Self) -> Step)> = vec![
            (if fresh { 12 } else { 1 }, Self::accept),
            (16, Self::close),
            (2, Self::leap),
            (4, Self::crash),
            (3, |_| Step::Weather),
            (1, Self::foreign),
        ];
        let mut also = |possible: bool, weight, kind: fn(&mut Self) -> Step| {
            if possible {
                kinds.push((weight, kind));
            }
        };
        also(pending && self.idle(Role::Worker), 20, Self::submit);
        also(pending, 1, Self::claim_and_die);
        also(self.idle(Role::Reconciler), 24, Self::pass);
        also(
            self.idle(Role::Reconciler),
            if indeterminate { 8 } else { 1 },
            Self::look_up_late,
        );
        also(held, 12, Self::let_go);
        also(!self.wandering.is_empty(), 4, |_| Step::Arrive);
        also(!self.view.rows.is_empty(), 3, Self::cancel);
        also(failed, 6, Self::requeue);
        kinds
    }

    fn idle(&self, role: Role) -> bool {
        let mut all = self.processes.iter();
        all.any(|process| process.role == role && process.is_idle())
    }

    fn any_idle(&mut self, role: Role) -> usize {
        let idle: Vec<_> = (0..self.processes.len())
            .filter(|at| self.processes[*at].role == role && self.processes[*at].is_idle())
            .collect();
        *self.chance.pick(&idle)
    }

    fn any_with(&mut self, status: &str) -> String {
        let keys = self.view.with_status(status);
        self.chance.pick(&keys).clone()
    }

    fn accept(&mut self) -> Step {
        let fresh: Vec<_> = (0..self.keys.len())
            .filter(|at| self.keys[*at].id.is_none())
            .collect();
        if fresh.is_empty() {
            let all: Vec<_> = (0..self.keys.len()).collect();
            return Step::Accept(*self.chance.pick(&all));
        }
        Step::Accept(*self.chance.pick(&fresh))
    }

    fn submit(&mut self) -> Step {
        Step::Submit {
            process: self.any_idle(Role::Worker),
            key: self.any_with("pending"),
        }
    }

    fn claim_and_die(&mut self) -> Step {
        Step::ClaimAndDie {
            key: self.any_with("pending"),
        }
    }

    fn pass(&mut self) -> Step {
        Step::Pass {
            process: self.any_idle(Role::Reconciler),
        }
    }

    fn look_up_late(&mut self) -> Step {
        Step::LookUpLate {
            process: self.any_idle(Role::Reconciler),
        }
    }

    fn let_go(&mut self) -> Step {
        let holding: Vec<_> = (0..self.processes.len())
            .filter(|at| self.processes[*at].front.held() > 0)
            .collect();
        Step::LetGo {
            process: *self.chance.pick(&holding),
            deliver: self.chance.permille(850),
        }
    }

    fn crash(&mut self) -> Step {
        let all: Vec<_> = (0..self.processes.len()).collect();
        Step::Crash {
            process: *self.chance.pick(&all),
        }
    }

    fn close(&mut self) -> Step {
        Step::Close {
            after_s: *self.chance.pick(&[5, 5, 5, 6, 20]),
        }
    }

    /// Far enough for what is out to expire, more or less.
    fn leap(&mut self) -> Step {
        Step::Close {
            after_s: self.chance.between(90, 140),
        }
    }

    fn cancel(&mut self) -> Step {
        let rows: Vec<_> = self.view.rows.iter().map(|row| row.key.clone()).collect();
        let pending = self.view.with_status("pending");
        let of = if pending.is_empty() { rows } else { pending };
        Step::Cancel(self.chance.pick(&of).clone())
    }

    fn requeue(&mut self) -> Step {
        Step::Requeue(self.any_with("failed"))
    }

    fn foreign(&mut self) -> Step {
        let channel = self.chance.below(u64::from(self.site.channels));
        Step::Foreign {
            channel: u8::try_from(channel).unwrap(),
        }
    }
}
