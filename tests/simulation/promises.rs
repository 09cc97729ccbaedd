//! What must hold after every step, and what must hold at the end.

use crate::chain::Effects;
use crate::keys::Key;
use crate::view::{Row, View};

/// A promise was broken; which.
pub type Broken = String;

/// The channel accounts there are.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    pub channels: i64,
    /// Whether submissions share one of them, and lease none.
    pub shared: bool,
}

/// What must hold at any moment.
pub fn always(view: &View, keys: &[Key], effects: &Effects, pool: Pool) -> Result<(), Broken> {
    for key in keys {
        let paid = effects.of(key.tag.0);
        if paid > 1 {
            return Err(format!("{} took effect {paid} times", key.name));
        }
        match view.row(&key.name) {
            Some(row) => of_row(row, paid)?,
            None if paid > 0 || key.id.is_some() => {
                return Err(format!("{} has no row", key.name));
            }
            None => {}
        }
    }
    of_pairs(view)?;
    of_the_pool(view, pool)
}

/// Nothing is forgotten here, so the service must not believe that anything was.
pub fn of_memory(refusal: Option<String>) -> Result<(), Broken> {
    refusal.map_or(Ok(()), |why| {
        Err(format!("nothing is decided any more: {why}"))
    })
}

fn of_row(row: &Row, paid: u32) -> Result<(), Broken> {
    let key = &row.key;
    match (row.status.as_str(), paid) {
        ("failed" | "cancelled", 1) => {
            return Err(format!("{key} is {} and took effect", row.status));
        }
        ("confirmed", 0) => return Err(format!("{key} is confirmed without effect")),
        _ => {}
    }
    if row.status == "failed" && row.verdict == "SUCCESS" {
        return Err(format!("{key} misses an effect that every node shows"));
    }
    let (lines, last, recorded) = row.log;
    if (lines, last) != (row.version, row.version) {
        return Err(format!(
            "{key} has version {} and {lines} lines to {last}",
            row.version
        ));
    }
    if recorded != row.attempts {
        return Err(format!(
            "{key} has {} envelopes, and {recorded} transitions that record one",
            row.attempts
        ));
    }
    if row.is_indeterminate() && row.last_error.is_none() {
        return Err(format!("{key} is indeterminate without a reason"));
    }
    Ok(())
}

fn of_pairs(view: &View) -> Result<(), Broken> {
    let held: Vec<_> = view.rows.iter().filter(|row| row.held).collect();
    for (place, row) in held.iter().enumerate() {
        let same = |other: &&&Row| (&other.account, other.sequence) == (&row.account, row.sequence);
        if let Some(other) = held[place + 1..].iter().find(same) {
            return Err(format!("{} and {} hold the same pair", row.key, other.key));
        }
    }
    Ok(())
}

fn of_the_pool(view: &View, pool: Pool) -> Result<(), Broken> {
    let sum: i64 = view.channels.values().sum();
    let leased = view.channels.get("leased").copied().unwrap_or(0);
    let held = view.rows.iter().filter(|row| row.held).count();
    let leases = if pool.shared { 0 } else { held };
    if sum != pool.channels || usize::try_from(leased) != Ok(leases) {
        return Err(format!(
            "of {pool:?} there are {:?}, and {held} rows hold a pair",
            view.channels
        ));
    }
    Ok(())
}

/// Whether every row has come to its end, as far as the service can bring it there.
pub fn is_over(view: &View) -> bool {
    view.rows
        .iter()
        .all(|row| row.is_terminal() || row.is_indeterminate())
}

/// What must hold when nothing happens any more.
pub fn finally(view: &View, pool: Pool) -> Result<(), Broken> {
    if let Some(stuck) = view
        .rows
        .iter()
        .find(|row| !row.is_terminal() && !row.is_indeterminate())
    {
        return Err(format!("{} stays {} for ever", stuck.key, stuck.status));
    }
    if let Some(row) = view.rows.iter().find(|row| row.held) {
        return Err(format!("{} is over and holds its pair", row.key));
    }
    let free = view.channels.get("free").copied().unwrap_or(0);
    if free != pool.channels {
        return Err(format!(
            "{free} of {} channels are free at the end: {:?}",
            pool.channels, view.channels
        ));
    }
    Ok(())
}
