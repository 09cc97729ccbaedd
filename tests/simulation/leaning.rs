//! What a run leans to. Runs that do everything a little find little: each seed does some things often, and some never.

use crate::chance::Chance;
use crate::fate::Mood;

/// Kinds of steps whose share differs from seed to seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Leap,
    Crash,
    Weather,
    Foreign,
    Found,
    ClaimAndDie,
    LetGo,
    Cancel,
    Requeue,
    LookUpLate,
}

const KINDS: usize = Kind::LookUpLate as usize + 1;

/// Moods with their shares.
type Moods = &'static [(u64, Mood)];

const fn mood(trouble: u64, held: u64) -> Mood {
    Mood {
        trouble,
        held,
        ..Mood::CALM
    }
}

const MIXED: Moods = &[
    (45, Mood::CALM),
    (25, mood(250, 80)),
    (15, mood(600, 150)),
    (15, mood(100, 500)),
];
/// Much that hangs, and is answered late.
const SLOW: Moods = &[(50, Mood::CALM), (50, mood(50, 800))];
/// Much that is answered wrongly, or not at all.
const WRONG: Moods = &[(30, Mood::CALM), (70, mood(600, 20))];
const FAIR: Moods = &[(90, Mood::CALM), (10, mood(300, 100))];

#[derive(Clone, Debug)]
pub struct Leaning {
    times: [u64; KINDS],
    moods: Moods,
    /// Of a hundred spells of bad weather, so many are surges of fees.
    pub surges: u64,
    /// Of a thousand steps, so many meet an index that lags.
    index_lags: u64,
    /// Before so many of a thousand steps a story begins.
    pub stories: u64,
}

impl Leaning {
    pub fn any(chance: &mut Chance) -> Self {
        let mut times = [1; KINDS];
        for times in &mut times {
            *times = *chance.pick(&[0, 1, 1, 2, 6]);
        }
        // What is held for ever shows nothing.
        let let_go = &mut times[Kind::LetGo as usize];
        *let_go = (*let_go).clamp(1, 3);
        Self {
            times,
            moods: chance.weighted(&[(30, MIXED), (35, SLOW), (25, WRONG), (10, FAIR)]),
            surges: *chance.pick(&[20, 50, 95]),
            stories: *chance.pick(&[0, 100, 300]),
            index_lags: *chance.pick(&[0, 50, 100, 500]),
        }
    }

    /// The weight of a kind of step in this run.
    pub fn weight(&self, kind: Kind, usual: u64) -> u64 {
        self.times[kind as usize] * usual
    }

    pub fn mood(&self, chance: &mut Chance) -> Mood {
        let holds = [
            (45, "sendTransaction"),
            (30, "getLedgerEntries"),
            (15, "getTransaction"),
            (10, "getEvents"),
        ];
        Mood {
            holds: chance.weighted(&holds),
            index_lags: chance.permille(self.index_lags),
            ..chance.weighted(self.moods)
        }
    }
}
