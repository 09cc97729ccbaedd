//! Staff: cancel, requeue, pause. They look first, and what they looked at may have moved when they act.

use tender::domain::submission::{Event, Status, Verdict};

use crate::checker::Protocol;
use crate::ledger::Change;
use crate::world::{Doing, Key, Wish, World};

impl World {
    /// What staff may ask for, as the row and its attempts look at this moment.
    pub fn wishes(&self, key: Key) -> Vec<Wish> {
        let row = self.row(key);
        if row.has_unsettled() {
            return Vec::new();
        }
        match row.state.status {
            Status::Pending => vec![Wish::Cancel, Wish::Pause],
            Status::Building => vec![Wish::Pause],
            Status::Failed if harmless(row.state.verdict) => vec![Wish::Requeue],
            Status::Failed
            | Status::Submitted
            | Status::Confirming
            | Status::Confirmed
            | Status::Cancelled
            | Status::Simulated => Vec::new(),
        }
    }

    pub fn intend(&self, key: Key, wish: Wish) -> Doing {
        let version = self.row(key).version;
        Doing::Intends { key, version, wish }
    }

    pub fn grant(&mut self, protocol: &Protocol, key: Key, version: u8, wish: Wish) {
        let event = match wish {
            Wish::Cancel => Event::Cancelled,
            Wish::Requeue => Event::Requeued,
            Wish::Pause => Event::Deferred,
        };
        self.apply(protocol, &Change::new(key, version, event));
    }
}

fn harmless(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Success | Verdict::Indeterminate => false,
        Verdict::Pending | Verdict::Failed | Verdict::Expired | Verdict::Cancelled => true,
    }
}
