//! `set_trust_line_flags` and its elder `allow_trust`: what the issuer lets a trustline do.
//!
//! There are no offers and no pool shares here, which a real network would remove when a line may no longer hold them.

use super::{Context, Failed, inner};
use crate::events;
use crate::xdr::{asset_is_valid, issuer, trustline_key};
use stellar_xdr::{
    AccountFlags, AccountId, AllowTrustOp, AllowTrustResult, AlphaNum4, AlphaNum12, Asset,
    AssetCode, OperationResultTr, SetTrustLineFlagsOp, SetTrustLineFlagsResult, TrustLineFlags,
};

const AUTHORIZED: u32 = TrustLineFlags::AuthorizedFlag as u32;
const MAINTAIN: u32 = TrustLineFlags::AuthorizedToMaintainLiabilitiesFlag as u32;
const CLAWBACK: u32 = TrustLineFlags::TrustlineClawbackEnabledFlag as u32;
const AUTH_FLAGS: u32 = AUTHORIZED | MAINTAIN;

fn set_failed(result: SetTrustLineFlagsResult) -> Failed {
    Box::new(inner(OperationResultTr::SetTrustLineFlags(result)))
}

fn allow_failed(result: AllowTrustResult) -> Failed {
    Box::new(inner(OperationResultTr::AllowTrust(result)))
}

/// The asset of that code that the source issues.
fn asset_of(code: &AssetCode, source: &AccountId) -> Asset {
    let issuer = source.clone();
    match code {
        AssetCode::CreditAlphanum4(code) => Asset::CreditAlphanum4(AlphaNum4 {
            asset_code: code.clone(),
            issuer,
        }),
        AssetCode::CreditAlphanum12(code) => Asset::CreditAlphanum12(AlphaNum12 {
            asset_code: code.clone(),
            issuer,
        }),
    }
}

pub(super) fn check_allow(op: &AllowTrustOp, source: &AccountId) -> Result<(), Failed> {
    let valid = op.authorize <= MAINTAIN
        && asset_is_valid(&asset_of(&op.asset, source))
        && op.trustor != *source;
    valid
        .then_some(())
        .ok_or_else(|| allow_failed(AllowTrustResult::Malformed))
}

pub(super) fn check_set(op: &SetTrustLineFlagsOp, source: &AccountId) -> Result<(), Failed> {
    let valid = asset_is_valid(&op.asset)
        && issuer(&op.asset) == Some(source)
        && op.trustor != *source
        && op.set_flags & op.clear_flags == 0
        && op.set_flags & !AUTH_FLAGS == 0
        && op.set_flags != AUTH_FLAGS
        && op.clear_flags & !(AUTH_FLAGS | CLAWBACK) == 0;
    valid
        .then_some(())
        .ok_or_else(|| set_failed(SetTrustLineFlagsResult::Malformed))
}

fn may_revoke(context: &Context<'_>, source: &AccountId) -> bool {
    context
        .state
        .account(source)
        .is_some_and(|account| account.flags & (AccountFlags::RevocableFlag as u32) != 0)
}

pub(super) fn allow(op: &AllowTrustOp, context: &mut Context<'_>) -> Result<(), Failed> {
    let source = context.source_id();
    let asset = asset_of(&op.asset, &source);
    let may_revoke = may_revoke(context, &source);
    if !may_revoke && op.authorize == 0 {
        return Err(allow_failed(AllowTrustResult::CantRevoke));
    }
    change(context, &op.trustor, &asset, |flags| {
        if !may_revoke && flags & AUTHORIZED != 0 && op.authorize & MAINTAIN != 0 {
            return Err(allow_failed(AllowTrustResult::CantRevoke));
        }
        Ok((flags & !AUTH_FLAGS) | op.authorize)
    })
    .unwrap_or_else(|| Err(allow_failed(AllowTrustResult::NoTrustLine)))
}

pub(super) fn set(op: &SetTrustLineFlagsOp, context: &mut Context<'_>) -> Result<(), Failed> {
    let source = context.source_id();
    let revokes = op.clear_flags & AUTH_FLAGS != 0 && op.set_flags & AUTHORIZED == 0;
    if revokes && !may_revoke(context, &source) {
        return Err(set_failed(SetTrustLineFlagsResult::CantRevoke));
    }
    change(context, &op.trustor, &op.asset, |flags| {
        let flags = (flags & !op.clear_flags) | op.set_flags;
        if flags & AUTH_FLAGS == AUTH_FLAGS {
            return Err(set_failed(SetTrustLineFlagsResult::InvalidState));
        }
        Ok(flags)
    })
    .unwrap_or_else(|| Err(set_failed(SetTrustLineFlagsResult::NoTrustLine)))
}

/// Gives a line other flags and tells so, also when they are what they were; `None` if there is no such line.
fn change(
    context: &mut Context<'_>,
    trustor: &AccountId,
    asset: &Asset,
    flags: impl FnOnce(u32) -> Result<u32, Failed>,
) -> Option<Result<(), Failed>> {
    let key = trustline_key(trustor, asset)?;
    let line = context.state.touch_line(&key)?;
    match flags(line.flags) {
        Err(failed) => Some(Err(failed)),
        Ok(flags) => {
            line.flags = flags;
            let authorized = flags & AUTHORIZED != 0;
            let event = events::set_authorized(context.network_id, asset, trustor, authorized);
            context.events.push(event);
            Some(Ok(()))
        }
    }
}
