//! What becomes of one call to the network.

use tender_devnet::faults::{Fault, Loss, Malformed, Release};

use crate::chance::Chance;

/// How the network is to one process during one step: shares of a thousand calls.
#[derive(Clone, Copy, Debug)]
pub struct Mood {
    /// Calls that go wrong.
    pub trouble: u64,
    /// Sends, of those that go wrong, that one node takes and another one refuses.
    pub refused: u64,
    /// Calls of one method that are held back until a later step.
    pub held: u64,
    /// Which method: what hangs early keeps later calls from being made.
    pub holds: &'static str,
    /// Whether accounts are told at once and as they are, or not at all.
    pub in_time: bool,
    /// Whether the node's index of transactions and events is behind its ledgers.
    pub index_lags: bool,
}

impl Mood {
    pub const CALM: Self = Self {
        trouble: 0,
        refused: 150,
        held: 0,
        holds: "",
        in_time: false,
        index_lags: false,
    };
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It is answered, perhaps wrongly.
    Answered(Option<Fault>),
    /// A proxy asked two nodes: one took the envelope, and the other one refuses it.
    TakenAndRefused {
        /// Fee in stroops that a full queue asks for. Without it that node is behind, and refuses the sequence.
        asks: Option<i64>,
    },
    /// Its request is under way until a later step.
    RequestHeld,
    /// It was done, and its answer is under way until a later step.
    AnswerHeld,
}

impl Fate {
    /// Of a call of that method.
    pub fn of(mood: Mood, method: &str, mut chance: Chance) -> Self {
        if method == "getLedgerEntries" && mood.in_time {
            let lost = chance.permille(mood.trouble);
            let fault = lost.then(|| Fault::AnswerLostBeforeAccept(loss(&mut chance)));
            return Self::Answered(fault);
        }
        if method == mood.holds && chance.permille(mood.held) {
            return if chance.permille(500) {
                Self::RequestHeld
            } else {
                Self::AnswerHeld
            };
        }
        let indexed = ["getTransaction", "getEvents", "getTransactions"].contains(&method);
        if indexed && mood.index_lags {
            let ledgers = ledgers(&mut chance);
            return Self::Answered(Some(Fault::IndexLag { ledgers }));
        }
        if !chance.permille(mood.trouble) {
            return Self::Answered(None);
        }
        if method == "sendTransaction" && chance.permille(mood.refused) {
            let asks = *chance.pick(&[None, None, Some(200), Some(900)]);
            return Self::TakenAndRefused { asks };
        }
        Self::Answered(Some(trouble(method, &mut chance)))
    }
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
