//! `payment`: lumens or an issued asset from the source to another account.

use super::{Context, Failed, inner};
use crate::entries::{add_lumens, add_to_line, available_balance, is_authorized};
use crate::events;
use crate::xdr::{account_of, asset_is_valid, issuer, trustline_key};
use stellar_xdr::{AccountId, Asset, OperationResultTr, PaymentOp, PaymentResult};

fn failed(result: PaymentResult) -> Failed {
    Box::new(inner(OperationResultTr::Payment(result)))
}

pub(super) fn check(op: &PaymentOp) -> Result<(), Failed> {
    if op.amount <= 0 || !asset_is_valid(&op.asset) {
        return Err(failed(PaymentResult::Malformed));
    }
    Ok(())
}

pub(super) fn apply(op: &PaymentOp, context: &mut Context<'_>) -> Result<(), Failed> {
    let destination = account_of(&op.destination);
    let source = context.source_id();
    // Lumens to oneself succeed without a look at the balance.
    if !(op.asset == Asset::Native && destination == source) {
        let to_issuer = issuer(&op.asset) == Some(&destination);
        // An asset can always go back to its issuer, even one whose account is gone.
        if !to_issuer && context.state.account(&destination).is_none() {
            return Err(failed(PaymentResult::NoDestination));
        }
        receive(op, &destination, context)?;
        send(op, &source, context)?;
    }
    context.events.push(events::payment(
        context.network_id,
        &op.asset,
        context.source,
        &op.destination,
        op.amount,
        context.memo,
    ));
    Ok(())
}

fn receive(
    op: &PaymentOp,
    destination: &AccountId,
    context: &mut Context<'_>,
) -> Result<(), Failed> {
    let Some(key) = trustline_key(destination, &op.asset) else {
        let base_reserve = context.ledger.base_reserve;
        let fits = context
            .state
            .touch_account(destination)
            .is_some_and(|account| add_lumens(account, op.amount, base_reserve));
        return if fits {
            Ok(())
        } else {
            Err(failed(PaymentResult::LineFull))
        };
    };
    if issuer(&op.asset) == Some(destination) {
        return Ok(());
    }
    let Some(line) = context.state.touch_line(&key) else {
        return Err(failed(PaymentResult::NoTrust));
    };
    if !is_authorized(line) {
        return Err(failed(PaymentResult::NotAuthorized));
    }
    if !add_to_line(line, op.amount) {
        return Err(failed(PaymentResult::LineFull));
    }
    Ok(())
}

fn send(op: &PaymentOp, source: &AccountId, context: &mut Context<'_>) -> Result<(), Failed> {
    let Some(key) = trustline_key(source, &op.asset) else {
        let base_reserve = context.ledger.base_reserve;
        let covered = context.state.touch_account(source).is_some_and(|account| {
            op.amount <= available_balance(account, base_reserve)
                && add_lumens(account, -op.amount, base_reserve)
        });
        return if covered {
            Ok(())
        } else {
            Err(failed(PaymentResult::Underfunded))
        };
    };
    if issuer(&op.asset) == Some(source) {
        return Ok(());
    }
    let Some(line) = context.state.touch_line(&key) else {
        return Err(failed(PaymentResult::SrcNoTrust));
    };
    if !is_authorized(line) {
        return Err(failed(PaymentResult::SrcNotAuthorized));
    }
    if !add_to_line(line, -op.amount) {
        return Err(failed(PaymentResult::Underfunded));
    }
    Ok(())
}
