//! `account_merge`: all lumens to another account, and the source is gone.

use super::{Context, Failed, inner};
use crate::entries::{add_lumens, num_sponsoring, starting_sequence};
use crate::events;
use crate::sponsorship::{release_account, remove_signer};
use crate::xdr::{account_key, account_of};
use stellar_xdr::{
    AccountEntry, AccountFlags, AccountId, AccountMergeResult, Asset, MuxedAccount,
    OperationResult, OperationResultTr,
};

fn failed(result: AccountMergeResult) -> Failed {
    Box::new(inner(OperationResultTr::AccountMerge(result)))
}

pub(super) fn check(destination: &MuxedAccount, source: &AccountId) -> Result<(), Failed> {
    if account_of(destination) == *source {
        return Err(failed(AccountMergeResult::Malformed));
    }
    Ok(())
}

fn may_end(context: &Context<'_>, account: &AccountEntry) -> Result<(), Failed> {
    if account.flags & (AccountFlags::ImmutableFlag as u32) != 0 {
        return Err(failed(AccountMergeResult::ImmutableSet));
    }
    if account.num_sub_entries as usize != account.signers.len() {
        return Err(failed(AccountMergeResult::HasSubEntries));
    }
    // Made anew, the account would start below a number it has used or is about to use.
    let next = starting_sequence(context.ledger.ledger_seq);
    let pending = context.max_sequences.get(&account.account_id);
    if account.seq_num.0 >= next || pending.is_some_and(|sequence| *sequence >= next) {
        return Err(failed(AccountMergeResult::SeqnumTooFar));
    }
    let sponsors_now = context
        .sponsorships
        .values()
        .any(|sponsor| *sponsor == account.account_id);
    if sponsors_now || num_sponsoring(account) > 0 {
        return Err(failed(AccountMergeResult::IsSponsor));
    }
    Ok(())
}

pub(super) fn apply(
    destination: &MuxedAccount,
    context: &mut Context<'_>,
) -> Result<OperationResult, Failed> {
    let source = context.source_id();
    let receiver = account_of(destination);
    if context.state.touch_account(&receiver).is_none() {
        return Err(failed(AccountMergeResult::NoAccount));
    }
    let Some(account) = context.state.touch_account(&source).cloned() else {
        return Err(Box::new(OperationResult::OpNoAccount));
    };
    may_end(context, &account)?;
    for index in (0..account.signers.len()).rev() {
        remove_signer(context.state, &source, index);
    }
    let base_reserve = context.ledger.base_reserve;
    let fits = context
        .state
        .touch_account(&receiver)
        .is_some_and(|to| add_lumens(to, account.balance, base_reserve));
    if !fits {
        return Err(failed(AccountMergeResult::DestFull));
    }
    let key = account_key(&source);
    if let Some(entry) = context.state.get(&key).cloned() {
        release_account(context.state, &source, &entry);
    }
    context.state.erase(&key);
    context.events.push(events::payment(
        context.network_id,
        &Asset::Native,
        context.source,
        destination,
        account.balance,
        context.memo,
    ));
    Ok(inner(OperationResultTr::AccountMerge(
        AccountMergeResult::Success(account.balance),
    )))
}
