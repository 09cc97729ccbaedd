//! `clawback`: the issuer takes an asset back that the holder's line lets it take.

use super::{Context, Failed, inner};
use crate::entries::add_to_line;
use crate::events;
use crate::xdr::{account_of, asset_is_valid, issuer, key_bytes, trustline_key};
use stellar_xdr::{
    AccountId, ClawbackOp, ClawbackResult, MuxedAccount, OperationResultTr, TrustLineFlags, Uint256,
};

fn failed(result: ClawbackResult) -> Failed {
    Box::new(inner(OperationResultTr::Clawback(result)))
}

pub(super) fn check(op: &ClawbackOp, source: &AccountId) -> Result<(), Failed> {
    let itself = MuxedAccount::Ed25519(Uint256(*key_bytes(source)));
    let valid = op.from != itself
        && op.amount > 0
        && asset_is_valid(&op.asset)
        && issuer(&op.asset) == Some(source);
    valid
        .then_some(())
        .ok_or_else(|| failed(ClawbackResult::Malformed))
}

pub(super) fn apply(op: &ClawbackOp, context: &mut Context<'_>) -> Result<(), Failed> {
    let holder = account_of(&op.from);
    let line = trustline_key(&holder, &op.asset).and_then(|key| context.state.touch_line(&key));
    let Some(line) = line else {
        return Err(failed(ClawbackResult::NoTrust));
    };
    if line.flags & (TrustLineFlags::TrustlineClawbackEnabledFlag as u32) == 0 {
        return Err(failed(ClawbackResult::NotClawbackEnabled));
    }
    if !add_to_line(line, -op.amount) {
        return Err(failed(ClawbackResult::Underfunded));
    }
    let event = events::clawback(context.network_id, &op.asset, holder, op.amount);
    context.events.push(event);
    Ok(())
}
