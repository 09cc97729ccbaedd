//! The submission ledger: the domain's transition under compare-and-set, and what it does to attempts and accounts. Each
//! call stands for one SQL transaction.

use tender::domain::plan::AccountState;
use tender::domain::submission::{Budget, Event, Next, PairFate, Status, Verdict};
use tender::domain::transition::next;

use crate::bugs::Bug;
use crate::checker::Protocol;
use crate::world::{Channel, Id, Key, Pair, Row, Sending, World};

/// What happened to a row, and what else is written with it.
pub struct Change {
    pub key: Key,
    /// Of the row as it was read.
    pub version: u8,
    pub event: Event,
    /// What the row asks for from now on, if that changes.
    pub sending: Option<Sending>,
    /// The account's sequence number in the snapshot that the event stands on.
    pub sequence: Option<u8>,
    pub brings: Brings,
}

/// What a transition brings along.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Brings {
    Nothing,
    /// A pair, which the row may hold already, and a new token.
    Claim(Pair),
    /// An envelope; with a token it is recorded under that claim only.
    Envelope(Id, Option<u8>),
}

impl Change {
    pub fn new(key: Key, version: u8, event: Event) -> Self {
        Self {
            key,
            version,
            event,
            sending: None,
            sequence: None,
            brings: Brings::Nothing,
        }
    }
}

impl World {
    /// Applies a transition to the row as it was read. Whether it was written.
    pub fn apply(&mut self, protocol: &Protocol, change: &Change) -> bool {
        self.apply_within(protocol, change, protocol.budget)
    }

    pub fn apply_within(&mut self, protocol: &Protocol, change: &Change, budget: Budget) -> bool {
        let before = self.row(change.key);
        let fenced = protocol.bug != Some(Bug::NotFenced) || change.brings != Brings::Nothing;
        if fenced && before.version != change.version {
            return false;
        }
        if let Brings::Envelope(_, Some(fence)) = change.brings
            && before.fence != fence
        {
            return false;
        }
        let Ok(next) = next(&before.state, &change.event, budget) else {
            return false;
        };
        let (held, held_before) = (before.held(), before.state.holds_pair);
        let fate = next.pair;
        let dead = matches!(change.event, Event::ProvenDead(..));
        let recorded_silently = protocol.bug == Some(Bug::RecordingKeepsVersion)
            && matches!(change.brings, Brings::Envelope(..));
        write(self.row_mut(change.key), &next, change);
        if !recorded_silently {
            self.row_mut(change.key).version += 1;
        }
        if fate == PairFate::Lease {
            if !held_before {
                self.lease(change.key);
            }
            return true;
        }
        if let Some(pair) = held
            && (dead || !next.state.holds_pair)
        {
            self.settle(change.key, pair);
        }
        self.give_back(change, fate, held);
        true
    }

    fn lease(&mut self, key: Key) {
        let Some(pair) = self.row(key).pair else {
            self.corrupt = true;
            return;
        };
        let channel = &mut self.pool[usize::from(pair.account)];
        let expected = Channel::Free {
            next_sequence: pair.sequence,
        };
        self.corrupt |= *channel != expected;
        *channel = Channel::Leased { by: key };
    }

    /// Marks the pair's attempts as dead or consumed.
    fn settle(&mut self, key: Key, pair: Pair) {
        for one in &mut self.row_mut(key).envelopes {
            one.settled |= one.recorded && one.pair == pair;
        }
    }

    fn give_back(&mut self, change: &Change, fate: PairFate, held: Option<Pair>) {
        let free = |next_sequence| Channel::Free { next_sequence };
        let channel = match (fate, held) {
            (PairFate::Keep | PairFate::Lease, _) => return,
            (_, None) => {
                self.corrupt = true;
                return;
            }
            (PairFate::Spent, Some(pair)) => {
                free(change.sequence.unwrap_or(0).max(pair.sequence) + 1)
            }
            (PairFate::Unused, Some(pair)) => free(pair.sequence),
            (PairFate::Reseed, Some(_)) => change
                .sequence
                .map_or(Channel::Quarantined, |sequence| free(sequence + 1)),
            (PairFate::Quarantine, Some(_)) => Channel::Quarantined,
        };
        let leased = Channel::Leased { by: change.key };
        match self.pool.iter_mut().find(|one| **one == leased) {
            Some(place) => *place = channel,
            None => self.corrupt = true,
        }
    }

    /// Records an envelope of the pair that the row holds. Whether it was written.
    pub fn record(&mut self, protocol: &Protocol, id: Id, version: u8, fence: Option<u8>) -> bool {
        let change = Change {
            brings: Brings::Envelope(id, fence),
            ..Change::new(id.key, version, Event::EnvelopeRecorded)
        };
        let pinned = self.row(id.key).pair == Some(self.envelope(id).pair);
        let allowed = match (fence, self.row(id.key).state.status) {
            (Some(_), status) => status == Status::Building,
            (None, status) => matches!(status, Status::Submitted | Status::Confirming),
        };
        let may = allowed && (pinned || protocol.bug == Some(Bug::BumpOfNewInner));
        if may && self.apply(protocol, &change) {
            self.envelope_mut(id).recorded = true;
            return true;
        }
        false
    }
}

fn write(row: &mut Row, next: &Next, change: &Change) {
    row.state = next.state;
    match change.brings {
        Brings::Nothing => {}
        Brings::Claim(pair) => {
            row.pair = Some(pair);
            row.fence += 1;
        }
        Brings::Envelope(..) => row.sending = Sending::Resend,
    }
    let out = matches!(next.state.status, Status::Submitted | Status::Confirming)
        && next.state.verdict != Verdict::Indeterminate;
    if !out {
        row.sending = Sending::Waiting;
    } else if let Some(sending) = change.sending {
        row.sending = sending;
    }
}

/// An account's sequence number, as small as it is here.
pub fn sequence_of(state: AccountState) -> u8 {
    let sequence = state.sequence().unwrap_or(0);
    u8::try_from(sequence).unwrap_or(u8::MAX)
}
