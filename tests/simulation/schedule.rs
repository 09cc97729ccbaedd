//! Which step is next.

use crate::leaning::Kind;
use crate::process::Role;
use crate::view::Row;
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
    Weather { surge: bool },
    /// The caller cancels.
    Cancel(String),
    /// Staff requeue.
    Requeue(String),
    /// Somebody else uses a channel account's next sequence.
    Foreign { channel: u8 },
    /// Somebody makes the account that is missing.
    Found,
}

/// Makes a step of some kind.
type Choice = fn(&mut World) -> Step;

impl World {
    /// The next step, of those that are possible.
    pub fn next_step(&mut self) -> Step {
        if let Some(step) = self.next_of_plot() {
            return step;
        }
        let kinds = self.possible();
        let kind = self.chance.weighted(&kinds);
        kind(self)
    }

    fn possible(&self) -> Vec<(u64, Choice)> {
        let rows = &self.view.rows;
        let fresh = self.keys.iter().any(|key| key.id.is_none());
        let pending = rows.iter().any(|row| row.status == "pending");
        let failed = rows.iter().any(|row| row.status == "failed");
        let indeterminate = rows.iter().any(Row::is_indeterminate);
        let held = self.processes.iter().any(|one| one.front.held() > 0);
        let worker = self.idle(Role::Worker);
        let reconciler = self.idle(Role::Reconciler);
        let lean = |kind, usual| self.leaning.weight(kind, usual);
        let late = if indeterminate { 8 } else { 1 };
        let kinds: [(bool, u64, Choice); 14] = [
            (true, if fresh { 12 } else { 1 }, Self::accept),
            (true, 16, Self::close),
            (true, lean(Kind::Leap, 3), Self::leap),
            (true, lean(Kind::Crash, 3), Self::crash),
            (true, lean(Kind::Weather, 3), Self::weather),
            (true, lean(Kind::Foreign, 1), Self::foreign),
            (failed, lean(Kind::Found, 6), |_| Step::Found),
            (pending && worker, 20, Self::submit),
            (pending, lean(Kind::ClaimAndDie, 1), Self::claim_and_die),
            (reconciler, 20, Self::pass),
            (reconciler, lean(Kind::LookUpLate, late), Self::look_up_late),
            (held, lean(Kind::LetGo, 10), Self::let_go),
            (!rows.is_empty(), lean(Kind::Cancel, 3), Self::cancel),
            (failed, lean(Kind::Requeue, 8), Self::requeue),
        ];
        let possible = kinds.into_iter().filter(|(possible, ..)| *possible);
        let mut kinds: Vec<_> = possible.map(|(_, weight, kind)| (weight, kind)).collect();
        if !self.wandering.is_empty() {
            kinds.push((4, |_| Step::Arrive));
        }
        kinds
    }

    pub fn idle(&self, role: Role) -> bool {
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

    pub fn submit(&mut self) -> Step {
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

    pub fn pass(&mut self) -> Step {
        Step::Pass {
            process: self.any_idle(Role::Reconciler),
        }
    }

    fn look_up_late(&mut self) -> Step {
        Step::LookUpLate {
            process: self.any_idle(Role::Reconciler),
        }
    }

    pub fn let_go(&mut self) -> Step {
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

    pub fn close(&mut self) -> Step {
        Step::Close {
            after_s: *self.chance.pick(&[5, 5, 5, 6, 20]),
        }
    }

    /// Far enough for what is out to expire, more or less.
    pub fn leap(&mut self) -> Step {
        Step::Close {
            after_s: self.chance.between(90, 160),
        }
    }

    fn cancel(&mut self) -> Step {
        let rows: Vec<_> = self.view.rows.iter().map(|row| row.key.clone()).collect();
        let pending = self.view.with_status("pending");
        let of = if pending.is_empty() { rows } else { pending };
        Step::Cancel(self.chance.pick(&of).clone())
    }

    pub fn requeue(&mut self) -> Step {
        Step::Requeue(self.any_with("failed"))
    }

    fn weather(&mut self) -> Step {
        Step::Weather {
            surge: self.chance.below(100) < self.leaning.surges,
        }
    }

    fn foreign(&mut self) -> Step {
        let channel = self.chance.below(u64::from(self.site.channels));
        Step::Foreign {
            channel: u8::try_from(channel).unwrap(),
        }
    }
}
