//! Reserves of new and removed entries, paid by their owner or by a sponsor.

use crate::apply::{Context, Failed};
use crate::entries::{
    available_balance, extension_v2_mut, min_balance, num_sponsoring, set_sponsor, sponsor,
};
use crate::state::LedgerState;
use crate::xdr::list;
use stellar_xdr::{
    AccountEntry, AccountId, LedgerEntry, LedgerEntryData, OperationResult, SponsorshipDescriptor,
};

/// Trustlines, signers and the like one account may have.
const MAX_SUB_ENTRIES: u32 = 1000;

/// Reserves an account itself costs.
pub const ACCOUNT_RESERVES: u32 = 2;

/// Why an entry may not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Whoever pays has not enough above the reserve.
    LowReserve,
    /// The owner has too many entries.
    TooManySubentries,
    /// The sponsor sponsors too much.
    TooManySponsoring,
}

impl Refusal {
    /// The operation's result; `low_reserve` is its own code for the first reason.
    pub fn result(self, low_reserve: Failed) -> Failed {
        match self {
            Refusal::LowReserve => low_reserve,
            Refusal::TooManySubentries => Box::new(OperationResult::OpTooManySubentries),
            Refusal::TooManySponsoring => Box::new(OperationResult::OpTooManySponsoring),
        }
    }
}

/// Whoever pays for entries that `owner` gets in the transaction being applied, if not the owner.
pub fn sponsor_of(context: &Context<'_>, owner: &AccountId) -> Option<AccountId> {
    context.sponsorships.get(owner).cloned()
}

fn can_sponsor(account: &AccountEntry, count: u32, base_reserve: u32) -> Result<(), Refusal> {
    let reserve = i64::from(count) * i64::from(base_reserve);
    if available_balance(account, base_reserve) < reserve {
        return Err(Refusal::LowReserve);
    }
    if !sum_fits(account, count) {
        return Err(Refusal::TooManySponsoring);
    }
    Ok(())
}

fn sum_fits(account: &AccountEntry, count: u32) -> bool {
    num_sponsoring(account)
        .checked_add(account.num_sub_entries)
        .and_then(|sum| sum.checked_add(count))
        .is_some()
}

fn has_room(account: &AccountEntry, count: u32) -> Result<(), Refusal> {
    if account.num_sub_entries > MAX_SUB_ENTRIES - count || !sum_fits(account, count) {
        return Err(Refusal::TooManySubentries);
    }
    Ok(())
}

/// Takes the reserve of a new account from its sponsor, or checks that its own balance covers it.
pub fn reserve_account(
    context: &mut Context<'_>,
    new: &mut LedgerEntry,
    owner: &AccountId,
) -> Result<(), Refusal> {
    let base_reserve = context.ledger.base_reserve;
    let payer = sponsor_of(context, owner);
    let LedgerEntryData::Account(account) = &mut new.data else {
        return Ok(());
    };
    let Some(payer) = payer else {
        if account.balance < min_balance(account, base_reserve) {
            return Err(Refusal::LowReserve);
        }
        return Ok(());
    };
    let Some(sponsoring) = context.state.touch_account(&payer) else {
        return Err(Refusal::LowReserve);
    };
    can_sponsor(sponsoring, ACCOUNT_RESERVES, base_reserve)?;
    extension_v2_mut(sponsoring).num_sponsoring += ACCOUNT_RESERVES;
    extension_v2_mut(account).num_sponsored += ACCOUNT_RESERVES;
    set_sponsor(new, Some(payer));
    Ok(())
}

/// Takes the reserve of one more entry of `owner`, from a sponsor if there is one, which is then told.
pub fn reserve_sub_entry(
    context: &mut Context<'_>,
    owner: &AccountId,
) -> Result<Option<AccountId>, Refusal> {
    let base_reserve = context.ledger.base_reserve;
    let payer = sponsor_of(context, owner);
    let Some(account) = context.state.touch_account(owner) else {
        return Err(Refusal::LowReserve);
    };
    has_room(account, 1)?;
    let Some(payer) = payer else {
        if available_balance(account, base_reserve) < i64::from(base_reserve) {
            return Err(Refusal::LowReserve);
        }
        account.num_sub_entries += 1;
        return Ok(None);
    };
    let Some(sponsoring) = context.state.touch_account(&payer) else {
        return Err(Refusal::LowReserve);
    };
    can_sponsor(sponsoring, 1, base_reserve)?;
    extension_v2_mut(sponsoring).num_sponsoring += 1;
    if let Some(account) = context.state.touch_account(owner) {
        account.num_sub_entries += 1;
        extension_v2_mut(account).num_sponsored += 1;
    }
    Ok(Some(payer))
}

fn release(state: &mut LedgerState, owner: &AccountId, payer: Option<&AccountId>, count: u32) {
    let Some(payer) = payer else { return };
    if let Some(sponsoring) = state.touch_account(payer) {
        let extension = extension_v2_mut(sponsoring);
        extension.num_sponsoring = extension.num_sponsoring.saturating_sub(count);
    }
    if let Some(account) = state.touch_account(owner) {
        let extension = extension_v2_mut(account);
        extension.num_sponsored = extension.num_sponsored.saturating_sub(count);
    }
}

/// Gives back the reserve of a trustline about to be removed.
pub fn release_sub_entry(state: &mut LedgerState, owner: &AccountId, entry: &LedgerEntry) {
    if let Some(account) = state.touch_account(owner) {
        account.num_sub_entries = account.num_sub_entries.saturating_sub(1);
    }
    release(state, owner, sponsor(entry), 1);
}

/// Gives a sponsor back the reserve of an account about to be removed.
pub fn release_account(state: &mut LedgerState, owner: &AccountId, entry: &LedgerEntry) {
    release(state, owner, sponsor(entry), ACCOUNT_RESERVES);
}

/// Removes the signer at `index` and gives back its reserve.
pub fn remove_signer(state: &mut LedgerState, owner: &AccountId, index: usize) {
    let Some(account) = state.touch_account(owner) else {
        return;
    };
    let mut signers = account.signers.to_vec();
    signers.remove(index);
    account.num_sub_entries = account.num_sub_entries.saturating_sub(1);
    let mut payer = None;
    if crate::entries::extension_v2(account).is_some() {
        let extension = extension_v2_mut(account);
        let mut payers = extension.signer_sponsoring_i_ds.to_vec();
        if index < payers.len() {
            SponsorshipDescriptor(payer) = payers.remove(index);
        }
        extension.signer_sponsoring_i_ds = list(payers);
    }
    account.signers = list(signers);
    release(state, owner, payer.as_ref(), 1);
}
