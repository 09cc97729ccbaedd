//! What must hold in every state, and what must be reachable at all, so that the rest says something.

use stateright::Property;
use tender::domain::submission::{Status, Verdict};

use crate::checker::Exploration;
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
    let mut all = vec![
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
        Property::sometimes("all keys are confirmed", |_, world: &World| {
            all_are(world, Status::Confirmed)
        }),
        Property::sometimes("all keys failed", |_, world: &World| {
            all_are(world, Status::Failed)
        }),
    ];
    if exploration.settling {
        all.push(Property::always(SETTLES, |exploration, world: &World| {
            crate::calm::settles(exploration, world)
        }));
    }
    all
}

fn keys(world: &World) -> impl Iterator<Item = Key> {
    (0u8..).take(world.rows.len())
}

fn holds_for(world: &World, status: Status, holds: impl Fn(&World, Key) -> bool) -> bool {
    keys(world)
        .filter(|key| world.row(*key).state.status == status)
        .all(|key| holds(world, key))
}

fn all_are(world: &World, status: Status) -> bool {
    world.rows.iter().all(|row| row.state.status == status)
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
