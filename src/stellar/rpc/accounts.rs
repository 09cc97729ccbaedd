//! States of accounts, many at one ledger.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::json;
use soroban_client::xdr;

use crate::domain::classify::Fault;
use crate::domain::ids::AccountId;
use crate::domain::plan::AccountState;
use crate::stellar::convert;

use super::Rpc;
use super::calls::Method;
use super::nodes;
use super::standing::Shown;
use super::wire::{Params, list};

/// Most keys that one call takes.
const PAGE_KEYS: usize = 200;

/// Accounts as they were at one ledger. States of different pages prove nothing together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The ledger.
    pub ledger: u32,
    /// The accounts asked for, in that order.
    pub accounts: Vec<(AccountId, AccountState)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(deserialize_with = "list")]
    entries: Vec<Entry>,
    latest_ledger: u32,
}

#[derive(Deserialize)]
struct Entry {
    key: String,
    xdr: String,
}

impl nodes::Answer for Answer {
    fn shown(&self) -> Option<Shown> {
        Some(Shown {
            ledger: self.latest_ledger,
            close_time: None,
        })
    }
}

impl Rpc {
    /// States of accounts, in pages of at most 200, each with the ledger it was taken at.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer to each page.
    pub async fn accounts(&self, accounts: &[AccountId]) -> Result<Vec<Page>, Fault> {
        let mut pages = Vec::with_capacity(accounts.len().div_ceil(PAGE_KEYS));
        for accounts in accounts.chunks(PAGE_KEYS) {
            let keys: Vec<_> = accounts.iter().map(|account| key_of(*account)).collect();
            let params = Params(json!({ "keys": keys }));
            let read = |answer| read(accounts, &keys, answer);
            pages.push(self.call(Method::GetLedgerEntries, params, read).await?);
        }
        Ok(pages)
    }

    /// An account's sequence number, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer.
    pub async fn account_sequence(&self, account: AccountId) -> Result<Option<i64>, Fault> {
        let pages = self.accounts(&[account]).await?;
        match pages.first().and_then(|page| page.accounts.first()) {
            Some((_, AccountState::Present { sequence, .. })) => Ok(Some(*sequence)),
            Some((_, AccountState::Absent)) => Ok(None),
            None => Err(Fault::Malformed),
        }
    }

    /// What an account holds of the native asset, in stroops, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer.
    pub async fn native_balance(&self, account: AccountId) -> Result<Option<i64>, Fault> {
        let key = key_of(account);
        let params = Params(json!({ "keys": [key] }));
        let read = |answer: Answer| match answer.entries.as_slice() {
            [] => Ok(None),
            [entry] if entry.key == key => match convert::read(&entry.xdr) {
                Some(xdr::LedgerEntryData::Account(account)) => Ok(Some(account.balance)),
                Some(_) | None => Err(Fault::Malformed),
            },
            _ => Err(Fault::Malformed),
        };
        self.call(Method::GetLedgerEntries, params, read).await
    }
}

fn key_of(account: AccountId) -> String {
    convert::write(&xdr::LedgerKey::Account(xdr::LedgerKeyAccount {
        account_id: convert::account(account),
    }))
}

/// An entry that was not asked for, twice the same one, or one that cannot be read makes the whole page unusable: an
/// account must not seem absent for such a reason.
fn read(accounts: &[AccountId], keys: &[String], answer: Answer) -> Result<Page, Fault> {
    let mut states = HashMap::with_capacity(keys.len());
    for entry in answer.entries {
        let (account, state) = state_of(&entry.xdr).ok_or(Fault::Malformed)?;
        if entry.key != key_of(account) || states.insert(account, state).is_some() {
            return Err(Fault::Malformed);
        }
    }
    let mut found = 0;
    let states_in_order = accounts.iter().map(|account| {
        let state = states.get(account).copied();
        found += usize::from(state.is_some());
        (*account, state.unwrap_or(AccountState::Absent))
    });
    let page = Page {
        ledger: answer.latest_ledger,
        accounts: states_in_order.collect(),
    };
    if found < states.len() {
        return Err(Fault::Malformed);
    }
    Ok(page)
}

fn state_of(entry: &str) -> Option<(AccountId, AccountState)> {
    let xdr::LedgerEntryData::Account(account) = convert::read(entry)? else {
        return None;
    };
    let state = AccountState::Present {
        sequence: account.seq_num.0,
        since_ledger: since_ledger(&account.ext),
    };
    Some((convert::account_back(&account.account_id), state))
}

/// The ledger in which the sequence took its value; an account that never sent anything does not tell.
fn since_ledger(ext: &xdr::AccountEntryExt) -> Option<u32> {
    let xdr::AccountEntryExt::V1(v1) = ext else {
        return None;
    };
    let xdr::AccountEntryExtensionV1Ext::V2(v2) = &v1.ext else {
        return None;
    };
    let xdr::AccountEntryExtensionV2Ext::V3(v3) = &v2.ext else {
        return None;
    };
    Some(v3.seq_ledger)
}

#[cfg(test)]
#[path = "accounts_tests.rs"]
mod tests;
