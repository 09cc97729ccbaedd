//! The ledger's entries, with an undo log instead of copies.
//!
//! A change is made in place; the innermost open frame keeps what was there before. Committing a frame hands its
//! memory to the one around it, rolling back restores it. So a ledger costs what its transactions touch, however
//! many accounts exist, and the frame is at the same time the list of changes that goes into transaction meta.

use crate::xdr::{account_key, list};
use std::collections::{BTreeMap, HashMap};
use stellar_xdr::{
    AccountEntry, AccountId, LedgerEntry, LedgerEntryChange, LedgerEntryChanges, LedgerEntryData,
    LedgerKey, TrustLineEntry,
};

type Frame = BTreeMap<LedgerKey, Option<LedgerEntry>>;

/// All entries of the ledger and the open frames around changes to them.
#[derive(Debug, Default)]
pub struct LedgerState {
    entries: HashMap<LedgerKey, LedgerEntry>,
    frames: Vec<Frame>,
    ledger_seq: u32,
}

impl LedgerState {
    /// The given entries; a key listed twice keeps its last entry.
    pub fn new(entries: Vec<(LedgerKey, LedgerEntry)>, ledger_seq: u32) -> Self {
        Self {
            entries: entries.into_iter().collect(),
            frames: Vec::new(),
            ledger_seq,
        }
    }

    /// Says in which ledger the changes to come are made.
    pub fn set_ledger(&mut self, ledger_seq: u32) {
        self.ledger_seq = ledger_seq;
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.entries.values()
    }

    /// The entry under a key, untouched.
    pub fn get(&self, key: &LedgerKey) -> Option<&LedgerEntry> {
        self.entries.get(key)
    }

    /// An account, untouched.
    pub fn account(&self, id: &AccountId) -> Option<&AccountEntry> {
        match &self.entries.get(&account_key(id))?.data {
            LedgerEntryData::Account(account) => Some(account),
            _ => None,
        }
    }

    /// Opens a frame inside the present one.
    pub fn begin(&mut self) {
        self.frames.push(Frame::new());
    }

    /// Closes the innermost frame and keeps its changes.
    pub fn commit(&mut self) {
        let frame = self.frames.pop().unwrap_or_default();
        if let Some(outer) = self.frames.last_mut() {
            for (key, before) in frame {
                outer.entry(key).or_insert(before);
            }
        }
    }

    /// Closes the innermost frame and undoes its changes.
    pub fn rollback(&mut self) {
        for (key, before) in self.frames.pop().unwrap_or_default() {
            match before {
                Some(entry) => self.entries.insert(key, entry),
                None => self.entries.remove(&key),
            };
        }
    }

    fn remember(&mut self, key: &LedgerKey) {
        let before = self.entries.get(key);
        if let Some(frame) = self.frames.last_mut()
            && !frame.contains_key(key)
        {
            frame.insert(key.clone(), before.cloned());
        }
    }

    /// The entry under a key, for changing: it counts as modified in this ledger whether or not it is changed.
    pub fn touch(&mut self, key: &LedgerKey) -> Option<&mut LedgerEntry> {
        if !self.entries.contains_key(key) {
            return None;
        }
        self.remember(key);
        let entry = self.entries.get_mut(key)?;
        entry.last_modified_ledger_seq = self.ledger_seq;
        Some(entry)
    }

    /// An account, for changing.
    pub fn touch_account(&mut self, id: &AccountId) -> Option<&mut AccountEntry> {
        match &mut self.touch(&account_key(id))?.data {
            LedgerEntryData::Account(account) => Some(account),
            _ => None,
        }
    }

    /// A trustline, for changing.
    pub fn touch_line(&mut self, key: &LedgerKey) -> Option<&mut TrustLineEntry> {
        match &mut self.touch(key)?.data {
            LedgerEntryData::Trustline(line) => Some(line),
            _ => None,
        }
    }

    /// Writes a new entry, modified in this ledger.
    pub fn create(&mut self, mut new: LedgerEntry) {
        let key = new.to_key();
        self.remember(&key);
        new.last_modified_ledger_seq = self.ledger_seq;
        self.entries.insert(key, new);
    }

    /// Removes an entry.
    pub fn erase(&mut self, key: &LedgerKey) {
        self.remember(key);
        self.entries.remove(key);
    }

    /// What the innermost frame has changed so far, as transaction meta tells it.
    pub fn changes(&self) -> LedgerEntryChanges {
        let mut changes = Vec::new();
        for (key, before) in self.frames.last().into_iter().flatten() {
            match (before, self.entries.get(key)) {
                (None, None) => {}
                (None, Some(after)) => changes.push(LedgerEntryChange::Created(after.clone())),
                (Some(before), Some(after)) => {
                    changes.push(LedgerEntryChange::State(before.clone()));
                    changes.push(LedgerEntryChange::Updated(after.clone()));
                }
                (Some(before), None) => {
                    changes.push(LedgerEntryChange::State(before.clone()));
                    changes.push(LedgerEntryChange::Removed(key.clone()));
                }
            }
        }
        LedgerEntryChanges(list(changes))
    }
}

#[cfg(test)]
mod tests {
    use super::LedgerState;
    use crate::entries::{entry, new_account};
    use crate::xdr::{account_id, account_key};
    use stellar_xdr::{LedgerEntryChange as Change, LedgerEntryData, LedgerKey};

    fn with_one_account() -> (LedgerState, LedgerKey) {
        let account = new_account(account_id([1; 32]), 100, 1);
        let key = account_key(&account.account_id);
        let entry = entry(LedgerEntryData::Account(account), 1);
        let mut state = LedgerState::new(vec![(key.clone(), entry)], 1);
        state.set_ledger(2);
        (state, key)
    }

    fn balance(state: &LedgerState) -> Option<i64> {
        state.account(&account_id([1; 32])).map(|a| a.balance)
    }

    fn set_balance(state: &mut LedgerState, balance: i64) {
        if let Some(account) = state.touch_account(&account_id([1; 32])) {
            account.balance = balance;
        }
    }

    #[test]
    fn rolling_back_restores_every_frame_by_itself() {
        let (mut state, key) = with_one_account();
        state.begin();
        set_balance(&mut state, 90);
        state.begin();
        set_balance(&mut state, 80);
        state.erase(&key);
        state.rollback();
        assert_eq!(balance(&state), Some(90));
        state.rollback();
        assert_eq!(balance(&state), Some(100));
        assert_eq!(state.get(&key).map(|e| e.last_modified_ledger_seq), Some(1));
    }

    #[test]
    fn a_committed_frame_is_undone_with_the_one_around_it() {
        let (mut state, key) = with_one_account();
        state.begin();
        state.begin();
        set_balance(&mut state, 80);
        state.commit();
        state.begin();
        state.erase(&key);
        state.commit();
        assert_eq!(balance(&state), None);
        state.rollback();
        assert_eq!(balance(&state), Some(100));
    }

    #[test]
    fn changes_tell_what_the_innermost_frame_did() {
        let (mut state, key) = with_one_account();
        state.begin();
        set_balance(&mut state, 90);
        state.begin();
        assert!(state.changes().0.is_empty());
        assert!(state.touch(&key).is_some());
        let changes = state.changes().0.to_vec();
        assert!(matches!(
            &changes[..],
            [Change::State(_), Change::Updated(_)]
        ));
        state.erase(&key);
        let changes = state.changes().0.to_vec();
        assert!(matches!(
            &changes[..],
            [Change::State(_), Change::Removed(_)]
        ));
    }
}
