//! What becomes of a state when nothing goes wrong any more.
//!
//! The checker's own `eventually` knows no fairness, and takes the bounds of the model for the end of the world. So
//! "eventually terminal" is checked another way, in every state that is reached: all processes lose what they have in
//! their hands, and from then on everybody gets a turn in every ledger, nodes answer, and ledgers take what is there. That
//! a process with something in its hands goes on first needs no case of its own: the state it leaves is reached as well.

use tender::domain::submission::{Status, Verdict};

use crate::chain::Applied;
use crate::checker::{Exploration, Protocol, Take};
use crate::look_up::{Look, Scan};
use crate::reconciler::{Page, Way};
use crate::world::{Answer, Channel, Doing, Key, World};

/// Ledgers in which everything must have ended: some windows, a claim for each row that waits for another's account, and
/// the ten minutes that an outcome is waited for which nobody tells.
const PATIENCE: u8 = 100;

/// Whether every row ends: settled, or held for staff because its outcome is out of reach, or waiting for an account
/// although all are set aside.
pub fn settles(exploration: &Exploration, world: &World) -> bool {
    let mut world = world.clone();
    let hands = world.workers.iter_mut().chain(&mut world.reconcilers);
    for doing in hands.chain([&mut world.staff]) {
        *doing = Doing::Nothing;
    }
    for _ in 0..PATIENCE {
        if (0u8..).take(world.rows.len()).all(|key| ended(&world, key)) {
            return true;
        }
        for key in (0u8..).take(world.rows.len()) {
            reconcile(&mut world, &exploration.protocol, key);
            submit(&mut world, &exploration.protocol, key);
        }
        close(&mut world);
        world.normalize();
    }
    false
}

fn ended(world: &World, key: Key) -> bool {
    let state = &world.row(key).state;
    let waits_in_vain = state.status == Status::Pending
        && !state.holds_pair
        && world.pool.iter().all(|one| *one == Channel::Quarantined);
    state.status.is_terminal() || state.verdict == Verdict::Indeterminate || waits_in_vain
}

fn reconcile(world: &mut World, protocol: &Protocol, key: Key) {
    let ledger = world.chain.ledger;
    let page = Page {
        ledger,
        seen: ledger,
    };
    let planned = match world.glance(key) {
        Some(glance) => world.plan(protocol, glance, page),
        None => world.late(key),
    };
    let Some(Doing::Planned { key, version, plan }) = planned else {
        return;
    };
    let look = Way::Looking(Look {
        indexed: ledger,
        scan: Scan::Tells,
    });
    let doing = world.act(protocol, (key, version), plan, look);
    if let Doing::Sending { id, version } = doing {
        world.send(id, true);
        world.note(protocol, id, version, Answer::Pending);
    }
}

fn submit(world: &mut World, protocol: &Protocol, key: Key) {
    let Some(pair) = world.claimable(key).first().copied() else {
        return;
    };
    let Some(Doing::Claimed { version, fence, .. }) = world.claim(protocol, key, pair) else {
        return;
    };
    let Some(id) = world.build(key, world.chain.ledger) else {
        return;
    };
    if world.record(protocol, id, version, Some(fence)) {
        let version = world.row(key).version;
        world.send(id, true);
        world.note(protocol, id, version, Answer::Pending);
    }
}

fn close(world: &mut World) {
    let closes_at = world.chain.next_close(false);
    let take = |account| {
        let candidates = world.candidates(account, closes_at);
        candidates
            .first()
            .map_or(Take::Nothing, |id| Take::Ours(*id, Applied::Success))
    };
    let takes: Vec<Take> = (0u8..).take(world.pool.len()).map(take).collect();
    world.close(&takes, false);
}
