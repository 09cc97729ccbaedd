//! States that differ in nothing that matters are one state: this keeps their number down without losing a behaviour.

use crate::world::{Doing, World};

impl World {
    /// The representative of all states that are like this one.
    ///
    /// A version is only ever compared with the row's own, and never comes back. So the row's is always 1 here, whoever
    /// read it holds 1, and whoever read an older one holds 0. The same goes for the tokens of claims. Processes of a
    /// kind are alike, so their order is nothing. And a copy that no ledger can include is no copy.
    pub fn normalize(&mut self) {
        for key in 0..self.rows.len() {
            let key = u8::try_from(key).unwrap_or(u8::MAX);
            let (version, fence) = (self.row(key).version, self.row(key).fence);
            let hands = self.workers.iter_mut().chain(&mut self.reconcilers);
            for doing in hands.chain([&mut self.staff]) {
                renumber(doing, key, version, fence);
            }
            let row = self.row_mut(key);
            (row.version, row.fence) = (1, 1);
            for id in self.ids(key) {
                if !self.alive(id) {
                    self.envelope_mut(id).abroad = false;
                }
            }
        }
        self.workers.sort_unstable();
        self.reconcilers.sort_unstable();
    }
}

fn renumber(doing: &mut Doing, of: u8, current: u8, token: u8) {
    let (version, fence) = match doing {
        Doing::Claimed {
            key,
            version,
            fence,
        } if *key == of => (version, Some(fence)),
        Doing::SentUnrecorded { id, version, fence } if id.key == of => (version, Some(fence)),
        Doing::Read(glance) if glance.key == of => (&mut glance.version, None),
        Doing::Sending { id, version } | Doing::Answered { id, version, .. } if id.key == of => {
            (version, None)
        }
        Doing::Planned { key, version, .. } | Doing::Intends { key, version, .. } if *key == of => {
            (version, None)
        }
        Doing::Nothing
        | Doing::Claimed { .. }
        | Doing::SentUnrecorded { .. }
        | Doing::Read(_)
        | Doing::Sending { .. }
        | Doing::Answered { .. }
        | Doing::Planned { .. }
        | Doing::Intends { .. } => return,
    };
    *version = u8::from(*version == current);
    if let Some(fence) = fence {
        *fence = u8::from(*fence == token);
    }
}
