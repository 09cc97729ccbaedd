//! What becomes of one call to the network.

use tender_devnet::faults::{Fault, Loss, Malformed, Release};

use crate::chance::Chance;

/// How the network is to one process during one step: shares of a thousand calls.
#[derive(Clone, Copy, Debug)]
pub struct Mood {
    /// Calls that go wrong.
    pub trouble: u64,
    /// Calls that are held back until a later step.
    pub held: u64,
}

impl Mood {
    pub const CALM: Self = Self {
        trouble: 0,
        held: 0,
    };

    pub fn any(chance: &mut Chance) -> Self {
        let (trouble, held) = chance.weighted(&[
            (45, (0, 0)),
            (25, (250, 80)),
            (15, (600, 150)),
            (15, (100, 500)),
        ]);
        Self { trouble, held }
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It is answered, perhaps wrongly.
    Answered(Option<Fault>),
    /// Its request is under way until a later step.
    RequestHeld,
    /// It was done, and its answer is under way until a later step.
    AnswerHeld,
}

impl Fate {
    /// Of a call of that method.
    pub fn of(mood: Mood, method: &str, mut chance: Chance) -> Self {
        if chance.permille(mood.held) && may_be_held(method) {
            return if chance.permille(500) {
                Self::RequestHeld
            } else {
                Self::AnswerHeld
            };
        }
        Self::Answered(
            chance
                .permille(mood.trouble)
                .then(|| trouble(method, &mut chance)),
        )
    }
}

/// Scans run aside and are asked about by every pass: one that hangs shows nothing that a slow one would not.
fn may_be_held(method: &str) -> bool {
    matches!(
        method,
        "sendTransaction" | "getTransaction" | "getLedgerEntries" | "getEvents"
    )
}

fn loss(chance: &mut Chance) -> Loss {
    *chance.pick(&[
        Loss::Reset,
        Loss::BadGateway,
        Loss::GatewayTimeout,
        Loss::RpcInternal,
        Loss::RpcProcessingLimit,
    ])
}

fn ledgers(chance: &mut Chance) -> u32 {
    u32::try_from(chance.between(1, 4)).unwrap()
}

fn trouble(method: &str, chance: &mut Chance) -> Fault {
    if chance.permille(150) {
        return Fault::AnswerLostBeforeAccept(loss(chance));
    }
    match method {
        "sendTransaction" => of_a_send(chance),
        "getTransaction" => match chance.below(10) {
            0..6 => Fault::IndexLag {
                ledgers: ledgers(chance),
            },
            6..8 => lag(chance),
            8 => Fault::WrongHash,
            _ => Fault::ShortHistory {
                ledgers: ledgers(chance),
            },
        },
        "getEvents" | "getTransactions" => match chance.below(10) {
            0..6 => Fault::IndexLag {
                ledgers: ledgers(chance),
            },
            6..9 => lag(chance),
            _ => Fault::Malformed(Malformed::Html),
        },
        _ => lag(chance),
    }
}

fn lag(chance: &mut Chance) -> Fault {
    Fault::Lag {
        ledgers: ledgers(chance),
    }
}

fn of_a_send(chance: &mut Chance) -> Fault {
    let taken = chance.permille(500);
    match chance.below(20) {
        0..6 => Fault::AnswerLostAfterAccept(loss(chance)),
        6..8 => Fault::TryAgainLater { taken },
        8 => Fault::UnknownStatus { taken },
        9..11 => Fault::BadSequence {
            ledgers: ledgers(chance),
        },
        11..14 => Fault::Held {
            until: Release::After(ledgers(chance)),
            dropped: taken,
        },
        14..16 => Fault::Held {
            until: Release::LastValid,
            dropped: taken,
        },
        16 => Fault::WrongHash,
        17 => Fault::Malformed(Malformed::Truncated),
        _ => lag(chance),
    }
}
