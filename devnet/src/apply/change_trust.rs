//! `change_trust`: makes, changes or removes the source's trustline for an asset.

use super::{Context, Failed, inner};
use crate::entries::{entry, minimum_limit, pool_use_count, set_sponsor};
use crate::sponsorship::{release_sub_entry, reserve_sub_entry};
use crate::xdr::{asset_is_valid, issuer, trustline_key};
use stellar_xdr::{
    AccountFlags, AccountId, Asset, ChangeTrustAsset, ChangeTrustOp, ChangeTrustResult,
    LedgerEntryData, LedgerKey, OperationResultTr, TrustLineAsset, TrustLineEntry,
    TrustLineEntryExt, TrustLineFlags,
};

fn failed(result: ChangeTrustResult) -> Failed {
    Box::new(inner(OperationResultTr::ChangeTrust(result)))
}

/// The asset of the line; pool shares have none and are filtered before.
fn asset_of(line: &ChangeTrustAsset) -> Option<Asset> {
    match line {
        ChangeTrustAsset::Native => Some(Asset::Native),
        ChangeTrustAsset::CreditAlphanum4(a) => Some(Asset::CreditAlphanum4(a.clone())),
        ChangeTrustAsset::CreditAlphanum12(a) => Some(Asset::CreditAlphanum12(a.clone())),
        ChangeTrustAsset::PoolShare(_) => None,
    }
}

pub(super) fn check(op: &ChangeTrustOp, source: &AccountId) -> Result<(), Failed> {
    let malformed = || failed(ChangeTrustResult::Malformed);
    let asset = asset_of(&op.line).ok_or_else(malformed)?;
    let issuer = issuer(&asset).ok_or_else(malformed)?;
    if op.limit < 0 || !asset_is_valid(&asset) || issuer == source {
        return Err(malformed());
    }
    Ok(())
}

pub(super) fn apply(op: &ChangeTrustOp, context: &mut Context<'_>) -> Result<(), Failed> {
    let malformed = || failed(ChangeTrustResult::Malformed);
    let source = context.source_id();
    let asset = asset_of(&op.line).ok_or_else(malformed)?;
    let key = trustline_key(&source, &asset).ok_or_else(malformed)?;
    let issuer = issuer(&asset).ok_or_else(malformed)?;
    if context.state.get(&key).is_some() {
        change(op, context, &source, &key, issuer)
    } else {
        open(op, context, &source, &key, issuer)
    }
}

fn change(
    op: &ChangeTrustOp,
    context: &mut Context<'_>,
    source: &AccountId,
    key: &LedgerKey,
    issuer: &AccountId,
) -> Result<(), Failed> {
    let issuer_exists = context.state.account(issuer).is_some();
    let Some(line) = context.state.touch_line(key) else {
        return Err(failed(ChangeTrustResult::InvalidLimit));
    };
    // Neither below what it holds nor away while it holds something.
    if op.limit < minimum_limit(line) {
        return Err(failed(ChangeTrustResult::InvalidLimit));
    }
    if op.limit > 0 {
        if !issuer_exists {
            return Err(failed(ChangeTrustResult::NoIssuer));
        }
        line.limit = op.limit;
        return Ok(());
    }
    if pool_use_count(line) != 0 {
        return Err(failed(ChangeTrustResult::CannotDelete));
    }
    if let Some(entry) = context.state.get(key).cloned() {
        release_sub_entry(context.state, source, &entry);
    }
    context.state.erase(key);
    Ok(())
}

fn open(
    op: &ChangeTrustOp,
    context: &mut Context<'_>,
    source: &AccountId,
    key: &LedgerKey,
    issuer: &AccountId,
) -> Result<(), Failed> {
    if op.limit == 0 {
        return Err(failed(ChangeTrustResult::InvalidLimit));
    }
    let Some(issuing) = context.state.account(issuer) else {
        return Err(failed(ChangeTrustResult::NoIssuer));
    };
    let flags = line_flags(issuing.flags);
    let payer = reserve_sub_entry(context, source)
        .map_err(|refusal| refusal.result(failed(ChangeTrustResult::LowReserve)))?;
    let asset = match key {
        LedgerKey::Trustline(key) => key.asset.clone(),
        _ => TrustLineAsset::Native,
    };
    let line = TrustLineEntry {
        account_id: source.clone(),
        asset,
        balance: 0,
        limit: op.limit,
        flags,
        ext: TrustLineEntryExt::V0,
    };
    let mut new = entry(LedgerEntryData::Trustline(line), context.ledger.ledger_seq);
    if payer.is_some() {
        set_sponsor(&mut new, payer);
    }
    context.state.create(new);
    Ok(())
}

/// A new line is authorized unless the issuer wants to be asked, and can be clawed back if the issuer says so.
fn line_flags(issuer: u32) -> u32 {
    let mut flags = 0;
    if issuer & (AccountFlags::RequiredFlag as u32) == 0 {
        flags |= TrustLineFlags::AuthorizedFlag as u32;
    }
    if issuer & (AccountFlags::ClawbackEnabledFlag as u32) != 0 {
        flags |= TrustLineFlags::TrustlineClawbackEnabledFlag as u32;
    }
    flags
}
