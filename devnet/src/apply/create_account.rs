//! `create_account`: a new account with lumens from the source.

use super::{Context, Failed, inner};
use crate::entries::{add_lumens, available_balance, entry, new_account};
use crate::events;
use crate::sponsorship::reserve_account;
use stellar_xdr::{
    AccountId, Asset, CreateAccountOp, CreateAccountResult, LedgerEntryData, OperationResultTr,
};

fn failed(result: CreateAccountResult) -> Failed {
    Box::new(inner(OperationResultTr::CreateAccount(result)))
}

pub(super) fn check(op: &CreateAccountOp, source: &AccountId) -> Result<(), Failed> {
    // Zero is well formed: a sponsored account needs no lumens of its own.
    if op.starting_balance < 0 || op.destination == *source {
        return Err(failed(CreateAccountResult::Malformed));
    }
    Ok(())
}

pub(super) fn apply(op: &CreateAccountOp, context: &mut Context<'_>) -> Result<(), Failed> {
    if context.state.account(&op.destination).is_some() {
        return Err(failed(CreateAccountResult::AlreadyExist));
    }
    let ledger = context.ledger.ledger_seq;
    let account = new_account(op.destination.clone(), op.starting_balance, ledger);
    let mut new = entry(LedgerEntryData::Account(account), ledger);
    reserve_account(context, &mut new, &op.destination)
        .map_err(|refusal| refusal.result(failed(CreateAccountResult::LowReserve)))?;
    let base_reserve = context.ledger.base_reserve;
    let covered = context
        .state
        .touch_account(&context.source_id())
        .is_some_and(|account| {
            op.starting_balance <= available_balance(account, base_reserve)
                && add_lumens(account, -op.starting_balance, base_reserve)
        });
    if !covered {
        return Err(failed(CreateAccountResult::Underfunded));
    }
    context.state.create(new);
    context.events.push(events::payment(
        context.network_id,
        &Asset::Native,
        context.source,
        &op.destination.clone().into(),
        op.starting_balance,
        context.memo,
    ));
    Ok(())
}
