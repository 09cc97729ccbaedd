//! Carrying an action out.

use crate::chain::{Applied, Use};
use crate::checker::{Action, Protocol, Take, Who};
use crate::world::{Answer, Doing, Id, Plan, World};

impl World {
    /// `None` if the action changes nothing.
    pub fn step(&mut self, protocol: &Protocol, action: Action) -> Option<()> {
        match action {
            Action::Claim(place, key, pair) => {
                self.workers[place] = self.claim(protocol, key, pair)?;
            }
            Action::Record(place, seen) => self.build_and_record(protocol, place, seen),
            Action::SendUnrecorded(place, arrives) => self.send_unrecorded(place, arrives)?,
            Action::RecordSent(place) => self.record_sent(protocol, place),
            Action::Send(who, arrives, answer) => self.hand_over(who, arrives, answer)?,
            Action::Note(who) => {
                let doing = std::mem::replace(self.doing(who), Doing::Nothing);
                if let Doing::Answered {
                    id,
                    version,
                    answer,
                } = doing
                {
                    self.note(protocol, id, version, answer);
                }
            }
            Action::Read(place, key) => self.reconcilers[place] = Doing::Read(self.glance(key)?),
            Action::Look(place, key, page) => {
                let glance = if let Doing::Read(glance) = self.reconcilers[place] {
                    glance
                } else {
                    self.glance(key)?
                };
                let planned = self.plan(protocol, glance, page);
                self.reconcilers[place] = planned.unwrap_or(Doing::Nothing);
            }
            Action::Landed(place, id) => self.reconcilers[place] = self.landed(id),
            Action::Late(place, key) => self.reconcilers[place] = self.late(key)?,
            Action::Act(place, _, way) => {
                let doing = std::mem::replace(&mut self.reconcilers[place], Doing::Nothing);
                if let Doing::Planned { key, version, plan } = doing {
                    self.reconcilers[place] = self.act(protocol, (key, version), plan, way);
                }
            }
            Action::Crash(who) => {
                self.used.crashes += 1;
                *self.doing(who) = Doing::Nothing;
            }
            Action::Wish(key, wish) => {
                self.used.wishes += 1;
                self.staff = self.intend(key, wish);
            }
            Action::Grant => {
                let doing = std::mem::replace(&mut self.staff, Doing::Nothing);
                if let Doing::Intends { key, version, wish } = doing {
                    self.grant(protocol, key, version, wish);
                }
            }
            Action::Drop(id) => {
                self.used.drops += 1;
                self.envelope_mut(id).abroad = false;
            }
            Action::Close(takes, stall) => self.close(&takes, stall),
        }
        Some(())
    }

    fn doing(&mut self, who: Who) -> &mut Doing {
        match who {
            Who::Worker(place) => &mut self.workers[place],
            Who::Reconciler(place) => &mut self.reconcilers[place],
        }
    }

    fn hand_over(&mut self, who: Who, arrives: bool, answer: Answer) -> Option<()> {
        let Doing::Sending { id, version } = *self.doing(who) else {
            return None;
        };
        self.used.faults += u8::from(!arrives || answer != Answer::Pending);
        self.send(id, arrives);
        *self.doing(who) = Doing::Answered {
            id,
            version,
            answer,
        };
        Some(())
    }

    fn build_and_record(&mut self, protocol: &Protocol, place: usize, seen: u8) {
        let doing = std::mem::replace(&mut self.workers[place], Doing::Nothing);
        let Doing::Claimed {
            key,
            version,
            fence,
        } = doing
        else {
            return;
        };
        let Some(id) = self.build(key, seen) else {
            return;
        };
        if self.record(protocol, id, version, Some(fence)) {
            let version = self.row(key).version;
            self.workers[place] = Doing::Sending { id, version };
        } else {
            self.unsign(id);
        }
    }

    fn send_unrecorded(&mut self, place: usize, arrives: bool) -> Option<()> {
        let Doing::Claimed {
            key,
            version,
            fence,
        } = self.workers[place]
        else {
            return None;
        };
        let id = self.build(key, self.chain.ledger)?;
        self.send(id, arrives);
        self.workers[place] = Doing::SentUnrecorded { id, version, fence };
        Some(())
    }

    fn record_sent(&mut self, protocol: &Protocol, place: usize) {
        let doing = std::mem::replace(&mut self.workers[place], Doing::Nothing);
        if let Doing::SentUnrecorded { id, version, fence } = doing {
            self.record(protocol, id, version, Some(fence));
        }
    }

    fn landed(&self, id: Id) -> Doing {
        Doing::Planned {
            key: id.key,
            version: self.row(id.key).version,
            plan: Plan::Landed(id),
        }
    }

    /// A ledger closes with these transactions.
    pub fn close(&mut self, takes: &[Take], stall: bool) {
        self.chain.ledger += 1;
        if stall {
            self.chain.stalled_before = Some(self.chain.ledger);
        }
        let ledger = self.chain.ledger;
        for (uses, take) in self.chain.uses.iter_mut().zip(takes) {
            match *take {
                Take::Nothing => {}
                Take::Ours(id, applied) => {
                    self.used.failures += u8::from(applied != Applied::Success);
                    uses.push(Use {
                        ledger,
                        by: Some((id, applied)),
                    });
                }
                Take::Foreign => {
                    self.used.foreign += 1;
                    uses.push(Use { ledger, by: None });
                }
            }
        }
    }
}
