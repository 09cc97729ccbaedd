//! What must hold in every state, and what must be reachable at all, so that the rest says something.

use stateright::Property;
use tender::domain::submission::{Status, Verdict};

use crate::checker::{Bounds, Exploration};
use crate::world::{Channel, Key, Row, World};

pub const ONE_EFFECT: &str = "at most one effect a key";
pub const FAILED: &str = "failed means no effect";
pub const CANCELLED: &str = "cancelled means no effect";
pub const NOTHING_ALIVE: &str =
    "failed or cancelled means that no envelope can be included any more";
pub const CONFIRMED: &str = "confirmed means an effect";
pub const POOL: &str = "free + leased + quarantined = pool, and who leases holds";
pub const HELD_ONCE: &str = "no pair is held twice";
pub const WHOLE: &str = "no write finds the ledger broken";
pub const SETTLES: &str = "without further faults every row ends";

/// All that is checked.
pub fn all(exploration: &Exploration) -> Vec<Property<Exploration>> {
    let mut all = rules();
    // What a bug leaves behind need not end; the shortest way to the damage is what counts there.
    if exploration.protocol.bug.is_none() {
        all.push(Property::always(SETTLES, |exploration, world: &World| {
            crate::calm::settles(exploration, world)
        }));
        all.extend(landmarks(&exploration.bounds));
    }
    all
}

fn rules() -> Vec<Property<Exploration>> {
    vec![
        Property::always(ONE_EFFECT, |_, world: &World| {
            keys(world).all(|key| world.effects(key) <= 1)
        }),
        Property::always(FAILED, |_, world: &World| {
            holds_for(world, Status::Failed, |world, key| {
                world.row(key).state.verdict == Verdict::Success || world.effects(key) == 0
            })
        }),
        Property::always(CANCELLED, |_, world: &World| {
            holds_for(world, Status::Cancelled, |world, key| {
                world.effects(key) == 0
            })
        }),
        Property::always(NOTHING_ALIVE, |_, world: &World| {
            holds_for(world, Status::Failed, nothing_alive)
                && holds_for(world, Status::Cancelled, nothing_alive)
        }),
        Property::always(CONFIRMED, |_, world: &World| {
            holds_for(world, Status::Confirmed, |world, key| {
                world.effects(key) > 0
            })
        }),
        Property::always(POOL, |_, world: &World| pool_adds_up(world)),
        Property::always(HELD_ONCE, |_, world: &World| held_once(world)),
        Property::always(WHOLE, |_, world: &World| !world.corrupt),
    ]
}

/// What must be reachable in a world with these bounds, so that the rules say something about it.
fn landmarks(bounds: &Bounds) -> Vec<Property<Exploration>> {
    let mut landmarks = vec![
        Property::sometimes("all keys are confirmed", |_, world: &World| {
            world
                .rows
                .iter()
                .all(|row| row.state.status == Status::Confirmed)
        }),
        Property::sometimes("all keys failed", |_, world: &World| {
            world
                .rows
                .iter()
                .all(|row| row.state.status == Status::Failed)
        }),
    ];
    if bounds.wishes > 0 {
        landmarks.extend(landmarks_of_staff());
    }
    if bounds.foreign > 0 {
        landmarks.push(Property::sometimes(
            "an account is set aside",
            |_, world: &World| world.pool.contains(&Channel::Quarantined),
        ));
    }
    if bounds.stalls {
        landmarks.push(Property::sometimes(
            "an outcome is out of reach",
            |_, world: &World| {
                world
                    .rows
                    .iter()
                    .any(|row| row.state.verdict == Verdict::Indeterminate)
            },
        ));
    }
    if bounds.proxies {
        landmarks.push(Property::sometimes(
            "a fee-bump is applied",
            |_, world: &World| {
                let mut uses = world.chain.uses.iter().flatten();
                uses.any(|one| {
                    one.by
                        .is_some_and(|(id, _)| world.envelope(id).inner.is_some())
                })
            },
        ));
    }
    if bounds.anew {
        landmarks.push(Property::sometimes(
            "several envelopes of a pair are out",
            |_, world: &World| {
                let held = |row: &Row| row.held().map(|pair| row.unsettled(pair).iter().count());
                world.rows.iter().any(|row| held(row) > Some(1))
            },
        ));
    }
    landmarks
}

fn landmarks_of_staff() -> [Property<Exploration>; 2] {
    [
        Property::sometimes("a key is cancelled", |_, world: &World| {
            world
                .rows
                .iter()
                .any(|row| row.state.status == Status::Cancelled)
        }),
        Property::sometimes("a key is requeued, and paid", |_, world: &World| {
            let paid = |row: &Row| row.state.status == Status::Confirmed;
            world
                .rows
                .iter()
                .any(|row| row.state.generation > 0 && paid(row))
        }),
    ]
}

fn keys(world: &World) -> impl Iterator<Item = Key> {
    (0u8..).take(world.rows.len())
}

fn holds_for(world: &World, status: Status, holds: impl Fn(&World, Key) -> bool) -> bool {
    keys(world)
        .filter(|key| world.row(*key).state.status == status)
        .all(|key| holds(world, key))
}

/// Recorded or not, sent or not: a zombie may still have it in its hands.
fn nothing_alive(world: &World, key: Key) -> bool {
    !world.ids(key).any(|id| world.alive(id))
}

/// An account is free, or set aside, or leased by the one row that holds a pair of it; and every holder has its lease.
fn pool_adds_up(world: &World) -> bool {
    let holds = |row: &Row, account: usize| {
        row.held()
            .is_some_and(|pair| usize::from(pair.account) == account)
    };
    world.pool.iter().enumerate().all(|(account, channel)| {
        let mut holders = (0u8..)
            .zip(&world.rows)
            .filter(|(_, row)| holds(row, account));
        let holder = holders.next().map(|(key, _)| key);
        let alone = holders.next().is_none();
        alone
            && match *channel {
                Channel::Free { .. } | Channel::Quarantined => holder.is_none(),
                Channel::Leased { by } => holder == Some(by),
            }
    })
}

fn held_once(world: &World) -> bool {
    let held: Vec<_> = world.rows.iter().filter_map(Row::held).collect();
    held.iter()
        .enumerate()
        .all(|(place, pair)| !held[..place].contains(pair))
}
