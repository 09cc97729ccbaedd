//! Stories that go wrong in the field, as a few steps that follow each other more often than chance would have it. What
//! lies between them, and who plays which part, is left to the seed.

use std::collections::VecDeque;

use crate::fate::Mood;
use crate::process::Role;
use crate::schedule::Step;
use crate::world::World;

/// One step of a story.
#[derive(Clone, Copy, Debug)]
enum Beat {
    Submit(Mood),
    Pass(Mood),
    Leap,
    Close,
    LetGo,
    Found,
    Requeue,
}

const fn hangs(method: &'static str) -> Mood {
    Mood {
        held: 1000,
        holds: method,
        ..Mood::CALM
    }
}

const INDEX_LAGS: Mood = Mood {
    index_lags: true,
    ..Mood::CALM
};

const REFUSED: Mood = Mood {
    trouble: 1000,
    refused: 1000,
    ..Mood::CALM
};

/// A decision is made, and carried out after others have gone on.
const LATE_DECISION: &[Beat] = &[
    Beat::Submit(hangs("sendTransaction")),
    Beat::Leap,
    Beat::Leap,
    Beat::Pass(hangs("getLedgerEntries")),
    Beat::Pass(Mood::CALM),
    Beat::Submit(Mood::CALM),
    Beat::LetGo,
    Beat::LetGo,
    Beat::Close,
];

/// A node refuses what another one has taken.
const TWO_NODES: &[Beat] = &[
    Beat::Submit(REFUSED),
    Beat::Submit(Mood::CALM),
    Beat::Close,
    Beat::Pass(Mood::CALM),
    Beat::Close,
];

/// What failed is run again once its cause is gone.
const SECOND_TRY: &[Beat] = &[
    Beat::Submit(Mood::CALM),
    Beat::Close,
    Beat::Pass(Mood::CALM),
    Beat::Found,
    Beat::Close,
    Beat::Requeue,
    Beat::Submit(Mood::CALM),
    Beat::Close,
    Beat::Pass(INDEX_LAGS),
];

/// The rest of the story that is being played.
#[derive(Debug, Default)]
pub struct Plot(VecDeque<Beat>);

impl World {
    /// The story's next step, if one is played and it can be made now.
    pub fn next_of_plot(&mut self) -> Option<Step> {
        let ready = !self.view.with_status("pending").is_empty() && self.idle(Role::Worker);
        if ready && self.plot.0.is_empty() && self.chance.permille(self.leaning.stories) {
            let stories = [LATE_DECISION, TWO_NODES, SECOND_TRY];
            let story = *self.chance.pick(&stories);
            self.plot.0.extend(story);
        }
        // Something else may come in between.
        if self.plot.0.is_empty() || self.chance.permille(150) {
            return None;
        }
        let beat = self.plot.0.pop_front()?;
        self.play(beat)
    }

    fn play(&mut self, beat: Beat) -> Option<Step> {
        let pending = !self.view.with_status("pending").is_empty();
        let failed = !self.view.with_status("failed").is_empty();
        let held = self.processes.iter().any(|one| one.front.held() > 0);
        match beat {
            Beat::Submit(mood) if pending && self.idle(Role::Worker) => {
                self.told_mood = Some(mood);
                Some(self.submit())
            }
            Beat::Pass(mood) if self.idle(Role::Reconciler) => {
                self.told_mood = Some(mood);
                Some(self.pass())
            }
            Beat::Leap => Some(self.leap()),
            Beat::Close => Some(self.close()),
            Beat::LetGo if held => Some(self.let_go()),
            Beat::Found if failed => Some(Step::Found),
            Beat::Requeue if failed => Some(self.requeue()),
            Beat::Submit(_) | Beat::Pass(_) | Beat::LetGo | Beat::Found | Beat::Requeue => None,
        }
    }
}
