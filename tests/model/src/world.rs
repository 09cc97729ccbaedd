//! What a state of the model is made of: the submission ledger, the chain, and what each process has in its hands.

use std::hash::{Hash, Hasher};

use tender::domain::submission::State;

use crate::chain::Chain;

/// An idempotency key, by its place.
pub type Key = u8;

/// A source account and a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    pub account: u8,
    pub sequence: u8,
}

/// An envelope, by its key and its place among the key's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    pub key: Key,
    pub place: u8,
}

/// A signed transaction of a key: what the ledger recorded of it, and where its bytes are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    pub pair: Pair,
    /// The inner transaction of a fee-bump: another envelope of the same key.
    pub inner: Option<u8>,
    /// Unix seconds.
    pub max_time: u64,
    /// It is among the row's attempts.
    pub recorded: bool,
    /// Its attempt is marked as dead or consumed.
    pub settled: bool,
    /// A copy left the process: a node's queue, a wire or a proxy that retries has it, and any ledger may include it.
    pub abroad: bool,
}

/// What a row asks for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sending {
    Waiting,
    Resend,
    RaiseFee,
    Stopped { terminal: bool },
}

/// A row of the submission ledger, with its attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub state: State,
    /// Only whether it is the one that somebody read ever matters: see [`crate::symmetry`].
    pub version: u8,
    pub fence: u8,
    /// Held while the state says so; shown afterwards.
    pub pair: Option<Pair>,
    pub sending: Sending,
    /// A transaction of the key that no attempt is known for.
    pub found: Option<Id>,
    pub envelopes: Vec<Envelope>,
}

impl Hash for Row {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Self {
            state,
            version,
            fence,
            pair,
            sending,
            found,
            envelopes,
        } = self;
        // The domain's state is no key of a map anywhere else, so it does not hash itself.
        let State {
            status,
            verdict,
            category,
            holds_pair,
            transient_failures,
            claims,
            generation,
        } = state;
        (status, verdict, category, holds_pair).hash(into);
        (transient_failures, claims, generation).hash(into);
        (version, fence, pair, sending, found, envelopes).hash(into);
    }
}

impl Row {
    /// The pair it holds.
    pub fn held(&self) -> Option<Pair> {
        self.pair.filter(|_| self.state.holds_pair)
    }

    /// The places of its attempts of that pair, settled or not.
    pub fn attempts(&self, pair: Pair) -> Places {
        let of_pair = |one: &Envelope| one.recorded && one.pair == pair;
        Places::of(&self.envelopes, of_pair)
    }

    /// The places of its attempts of that pair that may still be applied, as far as the ledger knows.
    pub fn unsettled(&self, pair: Pair) -> Places {
        let open = |one: &Envelope| one.recorded && !one.settled && one.pair == pair;
        Places::of(&self.envelopes, open)
    }

    /// Whether an attempt of any pair is not settled.
    pub fn has_unsettled(&self) -> bool {
        self.envelopes
            .iter()
            .any(|one| one.recorded && !one.settled)
    }
}

/// Some of a key's envelopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Places(u16);

impl Places {
    pub fn of(envelopes: &[Envelope], wanted: impl Fn(&Envelope) -> bool) -> Self {
        let bits = envelopes.iter().enumerate();
        Self(
            bits.filter(|(_, one)| wanted(one))
                .fold(0, |bits, (place, _)| bits | 1 << place),
        )
    }

    /// Oldest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = u8> {
        (0..16).filter(move |place| self.0 & 1 << place != 0)
    }
}

/// A channel account in the ledger's pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    Free { next_sequence: u8 },
    Leased { by: Key },
    Quarantined,
}

/// What the sender of an envelope was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// In the queue.
    Pending,
    /// Nothing usable: a time-out, a reset, an error, `TRY_AGAIN_LATER`, `txBAD_SEQ`. A row treats them alike.
    TimeOut,
    FeeTooLow,
    TooLate,
    /// For a reason that sending again does not change.
    Refused,
}

/// What a process has in its hands. A crash empties them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doing {
    Nothing,
    /// A worker owns the claim and builds.
    Claimed {
        key: Key,
        version: u8,
        fence: u8,
    },
    /// Bytes are on their way although nothing was recorded: only with that bug planted.
    SentUnrecorded {
        id: Id,
        version: u8,
        fence: u8,
    },
    /// A reconciler has read a row, and not yet its attempts and its account.
    Read(Glance),
    /// A reconciler knows what it is going to do.
    Planned {
        key: Key,
        version: u8,
        plan: Plan,
    },
    /// Recorded bytes are about to be handed to a socket.
    Sending {
        id: Id,
        version: u8,
    },
    /// The answer is there, and not noted yet.
    Answered {
        id: Id,
        version: u8,
        answer: Answer,
    },
    /// Staff have looked at a row and decided.
    Intends {
        key: Key,
        version: u8,
        wish: Wish,
    },
}

/// A row as a reconciler read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Glance {
    pub key: Key,
    pub version: u8,
    pub building: bool,
    /// An envelope is out.
    pub out: bool,
    pub pair: Pair,
    pub sending: Sending,
}

/// What staff ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wish {
    Cancel,
    Requeue,
    Pause,
}

/// A step of the domain's plan, with what is needed to carry it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plan {
    EndClaim,
    Resend(Id),
    RaiseFee(Places),
    Bury {
        terminal: bool,
        gap: bool,
        sequence: u8,
    },
    LookUp {
        attempts: Places,
        sequence: u8,
        /// Ledgers that are read for the consumer.
        range: (u8, u8),
        /// Looked for so long that staff are called.
        long_enough: bool,
    },
    IdleConsumed {
        /// Nothing was handed out after the pair, so that its consumer can be named.
        last: bool,
        sequence: u8,
    },
    /// An event named one of the attempts.
    Landed(Id),
    /// The outcome was out of reach: look the hashes up again.
    LookUpLate(Places),
}

/// How much of what can go wrong has gone wrong, and what else is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Used {
    pub crashes: u8,
    pub faults: u8,
    pub resends: u8,
    pub failures: u8,
    pub foreign: u8,
    pub drops: u8,
    pub wishes: u8,
}

/// A state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub rows: Vec<Row>,
    pub pool: Vec<Channel>,
    pub chain: Chain,
    pub workers: Vec<Doing>,
    pub reconcilers: Vec<Doing>,
    pub staff: Doing,
    pub used: Used,
    /// A write found the ledger in a state in which it refuses to go on.
    pub corrupt: bool,
}

impl World {
    pub fn new(keys: usize, channels: usize, workers: usize, reconcilers: usize) -> Self {
        let row = Row {
            state: State::ACCEPTED,
            version: 1,
            fence: 1,
            pair: None,
            sending: Sending::Waiting,
            found: None,
            envelopes: Vec::new(),
        };
        Self {
            rows: vec![row; keys],
            pool: vec![Channel::Free { next_sequence: 1 }; channels],
            chain: Chain::new(channels),
            workers: vec![Doing::Nothing; workers],
            reconcilers: vec![Doing::Nothing; reconcilers],
            staff: Doing::Nothing,
            used: Used::default(),
            corrupt: false,
        }
    }

    pub fn row(&self, key: Key) -> &Row {
        &self.rows[usize::from(key)]
    }

    pub fn row_mut(&mut self, key: Key) -> &mut Row {
        &mut self.rows[usize::from(key)]
    }

    pub fn envelope(&self, id: Id) -> &Envelope {
        &self.row(id.key).envelopes[usize::from(id.place)]
    }

    pub fn envelope_mut(&mut self, id: Id) -> &mut Envelope {
        &mut self.row_mut(id.key).envelopes[usize::from(id.place)]
    }

    /// Every envelope ever signed for the key.
    pub fn ids(&self, key: Key) -> impl Iterator<Item = Id> + use<> {
        let places = u8::try_from(self.row(key).envelopes.len()).unwrap_or(u8::MAX);
        (0..places).map(move |place| Id { key, place })
    }

    /// Whether a ledger can still include it.
    pub fn alive(&self, id: Id) -> bool {
        let one = self.envelope(id);
        self.chain.unused(one.pair) && self.chain.closed_at(self.chain.ledger) < one.max_time
    }

    /// Signs an envelope for the key.
    pub fn sign(&mut self, key: Key, pair: Pair, inner: Option<u8>, max_time: u64) -> Id {
        let envelopes = &mut self.row_mut(key).envelopes;
        envelopes.push(Envelope {
            pair,
            inner,
            max_time,
            recorded: false,
            settled: false,
            abroad: false,
        });
        let place = u8::try_from(envelopes.len() - 1).unwrap_or(u8::MAX);
        Id { key, place }
    }
    /// Forgets the last envelope signed: it was not recorded, so nobody has its bytes.
    pub fn unsign(&mut self, id: Id) {
        self.row_mut(id.key)
            .envelopes
            .truncate(usize::from(id.place));
    }
}
