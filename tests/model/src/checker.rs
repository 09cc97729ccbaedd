//! The model as the checker sees it: bounds, and what may happen next in a state.

use stateright::{Model, Property};
use tender::domain::submission::{Budget, Verdict};

use crate::bugs::Bug;
use crate::chain::Applied;
use crate::look_up::{Look, Scan};
use crate::properties;
use crate::reconciler::{Page, Way};
use crate::world::{Answer, Doing, Id, Key, Pair, Plan, Wish, World};

/// The rules under test.
#[derive(Clone, Debug)]
pub struct Protocol {
    pub bug: Option<Bug>,
    pub budget: Budget,
}

/// A bounded world: how many of everything, and how much goes wrong.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each switches one kind of trouble on"
)]
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub keys: usize,
    pub channels: usize,
    pub workers: usize,
    pub reconcilers: usize,
    /// Ledgers that close.
    pub ledgers: u8,
    /// By how many ledgers a node, or what a process has seen, may lag.
    pub lag: u8,
    pub crashes: u8,
    /// Sends that are lost, or not answered `PENDING`.
    pub faults: u8,
    /// The answers of such sends.
    pub answers: &'static [Answer],
    /// A proxy may repeat a call that failed, and answer with what became of one copy while another is accepted.
    pub proxies: bool,
    pub resends: u8,
    /// Whether a resend may be another envelope of the pair, simulated or signed again.
    pub anew: bool,
    /// Transactions that fail in a ledger.
    pub failures: u8,
    /// Sequences that somebody else uses.
    pub foreign: u8,
    /// Envelopes that a queue drops.
    pub drops: u8,
    /// What staff ask for.
    pub wishes: u8,
    /// The network stands still once.
    pub stalls: bool,
    /// History may be too short to name a consumer.
    pub short_history: bool,
    /// A row is read before its attempts and its account, rather than together with them.
    pub reads_apart: bool,
}

/// The protocol in a bounded world.
#[derive(Clone, Debug)]
pub struct Exploration {
    pub protocol: Protocol,
    pub bounds: Bounds,
}

/// What the next ledger takes from an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    Nothing,
    Ours(Id, Applied),
    Foreign,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Worker(usize),
    Reconciler(usize),
}

/// One step of one process, or of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Claim(usize, Key, Pair),
    /// Builds, dated by the ledger seen, and records.
    Record(usize, u8),
    SendUnrecorded(usize, bool),
    RecordSent(usize),
    Send(Who, bool, Answer),
    Note(Who),
    Read(usize, Key),
    Look(usize, Key, Page),
    Landed(usize, Id),
    Late(usize, Key),
    Act(usize, Plan, Way),
    Crash(Who),
    Wish(Key, Wish),
    Grant,
    Drop(Id),
    /// A ledger closes; the network may have stood still before.
    Close(Vec<Take>, bool),
}

impl Model for Exploration {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let Bounds {
            keys,
            channels,
            workers,
            reconcilers,
            ..
        } = self.bounds;
        vec![World::new(keys, channels, workers, reconcilers)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (place, doing) in world.workers.iter().enumerate() {
            self.worker_actions(world, place, doing, actions);
        }
        for (place, doing) in world.reconcilers.iter().enumerate() {
            self.reconciler_actions(world, place, doing, actions);
        }
        self.staff_actions(world, actions);
        self.network_actions(world, actions);
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut world = before.clone();
        world.step(&self.protocol, action)?;
        world.normalize();
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}

impl Exploration {
    fn worker_actions(
        &self,
        world: &World,
        place: usize,
        doing: &Doing,
        actions: &mut Vec<Action>,
    ) {
        match doing {
            Doing::Nothing => {
                for key in keys(world) {
                    let pairs = world.claimable(key).into_iter();
                    actions.extend(pairs.map(|pair| Action::Claim(place, key, pair)));
                }
            }
            Doing::Claimed { .. } if self.protocol.bug == Some(Bug::SentBeforeRecorded) => {
                actions.extend([true, false].map(|one| Action::SendUnrecorded(place, one)));
            }
            Doing::Claimed { .. } => {
                let seen = self.recent(world, world.chain.ledger);
                actions.extend(seen.map(|seen| Action::Record(place, seen)));
            }
            Doing::SentUnrecorded { .. } => actions.push(Action::RecordSent(place)),
            Doing::Sending { .. } | Doing::Answered { .. } => {
                self.send_actions(world, Who::Worker(place), doing, actions);
            }
            Doing::Read(_) | Doing::Planned { .. } | Doing::Intends { .. } => {}
        }
        self.crash(world, Who::Worker(place), doing, actions);
    }

    fn send_actions(&self, world: &World, who: Who, doing: &Doing, actions: &mut Vec<Action>) {
        match doing {
            Doing::Sending { .. } => {
                actions.push(Action::Send(who, true, Answer::Pending));
                if world.used.faults < self.bounds.faults {
                    for answer in self.bounds.answers {
                        if *answer == Answer::TimeOut || self.bounds.proxies {
                            actions.push(Action::Send(who, true, *answer));
                        }
                        actions.push(Action::Send(who, false, *answer));
                    }
                }
            }
            Doing::Answered { .. } => actions.push(Action::Note(who)),
            Doing::Nothing
            | Doing::Claimed { .. }
            | Doing::SentUnrecorded { .. }
            | Doing::Read(_)
            | Doing::Planned { .. }
            | Doing::Intends { .. } => {}
        }
    }

    /// Whoever only looked loses nothing that matters.
    fn crash(&self, world: &World, who: Who, doing: &Doing, actions: &mut Vec<Action>) {
        let loses = matches!(
            doing,
            Doing::Claimed { .. }
                | Doing::SentUnrecorded { .. }
                | Doing::Sending { .. }
                | Doing::Answered { .. }
        );
        if loses && world.used.crashes < self.bounds.crashes {
            actions.push(Action::Crash(who));
        }
    }

    fn reconciler_actions(
        &self,
        world: &World,
        place: usize,
        doing: &Doing,
        actions: &mut Vec<Action>,
    ) {
        match doing {
            Doing::Nothing => self.reads(world, place, actions),
            Doing::Read(glance) => self.looks(world, place, glance.key, actions),
            Doing::Planned { plan, .. } => {
                let ways = self.ways(world, *plan).into_iter();
                actions.extend(ways.map(|way| Action::Act(place, *plan, way)));
            }
            Doing::Sending { .. } | Doing::Answered { .. } => {
                self.send_actions(world, Who::Reconciler(place), doing, actions);
            }
            Doing::Claimed { .. } | Doing::SentUnrecorded { .. } | Doing::Intends { .. } => {}
        }
        self.crash(world, Who::Reconciler(place), doing, actions);
    }

    fn reads(&self, world: &World, place: usize, actions: &mut Vec<Action>) {
        for key in keys(world) {
            let row = world.row(key);
            if row.state.verdict == Verdict::Indeterminate {
                actions.push(Action::Late(place, key));
            }
            let Some(glance) = world.glance(key) else {
                continue;
            };
            if glance.out {
                let attempts = row.unsettled(glance.pair).iter();
                let landed = attempts
                    .map(|attempt| Id {
                        key,
                        place: attempt,
                    })
                    .filter(|id| {
                        let by = world.chain.consumer(glance.pair).and_then(|one| one.by);
                        by == Some((*id, Applied::Success))
                    });
                actions.extend(landed.map(|id| Action::Landed(place, id)));
            }
            if self.bounds.reads_apart {
                actions.push(Action::Read(place, key));
            } else {
                self.looks(world, place, key, actions);
            }
        }
    }

    fn looks(&self, world: &World, place: usize, key: Key, actions: &mut Vec<Action>) {
        let newest = world.chain.ledger;
        for ledger in self.recent(world, newest) {
            for seen in self.recent(world, newest) {
                actions.push(Action::Look(place, key, Page { ledger, seen }));
            }
        }
    }

    fn ways(&self, world: &World, plan: Plan) -> Vec<Way> {
        match plan {
            Plan::Resend(_) if self.protocol.bug == Some(Bug::BudgetMeansFailed) => {
                vec![Way::Plainly]
            }
            Plan::Resend(_) | Plan::RaiseFee(_) if world.used.resends >= self.bounds.resends => {
                Vec::new()
            }
            Plan::Resend(_) if self.bounds.anew => vec![Way::Plainly, Way::Anew],
            Plan::EndClaim
            | Plan::Resend(_)
            | Plan::RaiseFee(_)
            | Plan::Bury { .. }
            | Plan::Landed(_) => vec![Way::Plainly],
            Plan::LookUp { .. } | Plan::IdleConsumed { .. } | Plan::LookUpLate(_) => {
                let mut ways = Vec::new();
                for indexed in self.recent(world, world.chain.ledger) {
                    let short = self.bounds.short_history.then_some(Scan::BeyondReach);
                    for scan in [Scan::Tells, Scan::NotYet].into_iter().chain(short) {
                        ways.push(Way::Looking(Look { indexed, scan }));
                    }
                }
                ways
            }
        }
    }

    fn staff_actions(&self, world: &World, actions: &mut Vec<Action>) {
        if matches!(world.staff, Doing::Intends { .. }) {
            actions.push(Action::Grant);
        } else if world.used.wishes < self.bounds.wishes {
            for key in keys(world) {
                let wishes = world.wishes(key).into_iter();
                actions.extend(wishes.map(|wish| Action::Wish(key, wish)));
            }
        }
    }

    fn network_actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.used.drops < self.bounds.drops {
            let all = keys(world).flat_map(|key| world.ids(key));
            actions.extend(
                all.filter(|id| world.envelope(*id).abroad)
                    .map(Action::Drop),
            );
        }
        if world.chain.ledger >= self.bounds.ledgers {
            return;
        }
        let may_stall = self.bounds.stalls && world.chain.stalled_before.is_none();
        for stall in [false, true] {
            if stall && !may_stall {
                continue;
            }
            for takes in self.takes(world, world.chain.next_close(stall)) {
                actions.push(Action::Close(takes, stall));
            }
        }
    }

    /// Every way in which the next ledger may take at most one transaction from each account.
    fn takes(&self, world: &World, closes_at: u64) -> Vec<Vec<Take>> {
        let mut takes: Vec<Vec<Take>> = vec![Vec::new()];
        for account in (0u8..).take(self.bounds.channels) {
            let mut choices = vec![Take::Nothing];
            if world.used.foreign < self.bounds.foreign {
                choices.push(Take::Foreign);
            }
            for id in world.candidates(account, closes_at) {
                choices.push(Take::Ours(id, Applied::Success));
                if world.used.failures < self.bounds.failures {
                    choices.push(Take::Ours(id, Applied::FailedTransient));
                    choices.push(Take::Ours(id, Applied::FailedTerminal));
                }
            }
            takes = takes
                .into_iter()
                .flat_map(|before| {
                    choices.iter().map(move |choice| {
                        let mut after = before.clone();
                        after.push(*choice);
                        after
                    })
                })
                .collect();
        }
        takes
    }

    /// The newest ledger, and those that a laggard may take for it.
    fn recent(&self, world: &World, newest: u8) -> impl Iterator<Item = u8> + use<> {
        let oldest = world.chain.ledger.saturating_sub(self.bounds.lag);
        (oldest..=newest).rev()
    }
}

fn keys(world: &World) -> impl Iterator<Item = Key> + use<> {
    (0u8..).take(world.rows.len())
}
