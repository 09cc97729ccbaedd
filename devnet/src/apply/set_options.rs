//! `set_options`: flags, home domain, thresholds and signers of the source.

use super::{Context, Failed, Threshold, inner};
use crate::entries::{extension_v2, extension_v2_mut};
use crate::sponsorship::{remove_signer, reserve_sub_entry};
use crate::xdr::{key_bytes, list};
use stellar_xdr::{
    AccountEntry, AccountFlags, AccountId, OperationResult, OperationResultTr, SetOptionsOp,
    SetOptionsResult, Signer, SignerKey, SponsorshipDescriptor,
};

const ALL_FLAGS: u32 = AccountFlags::RequiredFlag as u32
    | AccountFlags::RevocableFlag as u32
    | AccountFlags::ImmutableFlag as u32
    | AccountFlags::ClawbackEnabledFlag as u32;

const MAX_SIGNERS: usize = 20;

fn failed(result: SetOptionsResult) -> Failed {
    Box::new(inner(OperationResultTr::SetOptions(result)))
}

pub(super) fn threshold(op: &SetOptionsOp) -> Threshold {
    let weights = [
        op.master_weight,
        op.low_threshold,
        op.med_threshold,
        op.high_threshold,
    ];
    if op.signer.is_some() || weights.iter().any(Option::is_some) {
        Threshold::High
    } else {
        Threshold::Medium
    }
}

pub(super) fn check(op: &SetOptionsOp, source: &AccountId) -> Result<(), Failed> {
    let (set, clear) = (op.set_flags.unwrap_or(0), op.clear_flags.unwrap_or(0));
    if (set | clear) & !ALL_FLAGS != 0 {
        return Err(failed(SetOptionsResult::UnknownFlag));
    }
    if set & clear != 0 {
        return Err(failed(SetOptionsResult::BadFlags));
    }
    let weights = [
        op.master_weight,
        op.low_threshold,
        op.med_threshold,
        op.high_threshold,
    ];
    if weights.iter().flatten().any(|w| *w > u32::from(u8::MAX)) {
        return Err(failed(SetOptionsResult::ThresholdOutOfRange));
    }
    if let Some(signer) = &op.signer {
        let own = matches!(&signer.key, SignerKey::Ed25519(key) if key.0 == *key_bytes(source));
        let empty =
            matches!(&signer.key, SignerKey::Ed25519SignedPayload(s) if s.payload.is_empty());
        if own || empty || signer.weight > u32::from(u8::MAX) {
            return Err(failed(SetOptionsResult::BadSigner));
        }
    }
    if let Some(domain) = &op.home_domain
        && domain
            .0
            .iter()
            .any(|b| !b.is_ascii() || b.is_ascii_control())
    {
        return Err(failed(SetOptionsResult::InvalidHomeDomain));
    }
    Ok(())
}

pub(super) fn apply(op: &SetOptionsOp, context: &mut Context<'_>) -> Result<(), Failed> {
    let source = context.source_id();
    if let Some(destination) = &op.inflation_dest
        && *destination != source
        && context.state.account(destination).is_none()
    {
        return Err(failed(SetOptionsResult::InvalidInflation));
    }
    let Some(account) = context.state.touch_account(&source) else {
        return Err(Box::new(OperationResult::OpNoAccount));
    };
    if let Some(destination) = &op.inflation_dest {
        account.inflation_dest = Some(destination.clone());
    }
    set_flags(op, account)?;
    if let Some(domain) = &op.home_domain {
        account.home_domain = domain.clone();
    }
    let weights = [
        op.master_weight,
        op.low_threshold,
        op.med_threshold,
        op.high_threshold,
    ];
    for (slot, weight) in account.thresholds.0.iter_mut().zip(weights) {
        if let Some(weight) = weight.and_then(|w| u8::try_from(w).ok()) {
            *slot = weight;
        }
    }
    match &op.signer {
        None => Ok(()),
        Some(signer) if signer.weight == 0 => {
            if let Ok(index) = find(account, &signer.key) {
                remove_signer(context.state, &source, index);
            }
            Ok(())
        }
        Some(signer) => put_signer(context, &source, signer),
    }
}

fn set_flags(op: &SetOptionsOp, account: &mut AccountEntry) -> Result<(), Failed> {
    let (set, clear) = (op.set_flags.unwrap_or(0), op.clear_flags.unwrap_or(0));
    let immutable = account.flags & (AccountFlags::ImmutableFlag as u32) != 0;
    if immutable && (set | clear) & ALL_FLAGS != 0 {
        return Err(failed(SetOptionsResult::CantChange));
    }
    account.flags = (account.flags & !clear) | set;
    let clawback = account.flags & (AccountFlags::ClawbackEnabledFlag as u32) != 0;
    let revocable = account.flags & (AccountFlags::RevocableFlag as u32) != 0;
    if (op.set_flags.is_some() || op.clear_flags.is_some()) && clawback && !revocable {
        return Err(failed(SetOptionsResult::AuthRevocableRequired));
    }
    Ok(())
}

/// Signers are kept in the order of their keys.
fn find(account: &AccountEntry, key: &SignerKey) -> Result<usize, usize> {
    account.signers.binary_search_by(|s| s.key.cmp(key))
}

fn put_signer(
    context: &mut Context<'_>,
    source: &AccountId,
    signer: &Signer,
) -> Result<(), Failed> {
    let Some(account) = context.state.touch_account(source) else {
        return Err(Box::new(OperationResult::OpNoAccount));
    };
    let mut signers = account.signers.to_vec();
    let index = match find(account, &signer.key) {
        Ok(index) => {
            signers[index].weight = signer.weight;
            account.signers = list(signers);
            return Ok(());
        }
        Err(index) => index,
    };
    if signers.len() >= MAX_SIGNERS {
        return Err(failed(SetOptionsResult::TooManySigners));
    }
    let payer = reserve_sub_entry(context, source)
        .map_err(|refusal| refusal.result(failed(SetOptionsResult::LowReserve)))?;
    if let Some(account) = context.state.touch_account(source) {
        if extension_v2(account).is_some() {
            let extension = extension_v2_mut(account);
            let mut payers = extension.signer_sponsoring_i_ds.to_vec();
            payers.insert(index, SponsorshipDescriptor(payer));
            extension.signer_sponsoring_i_ds = list(payers);
        }
        signers.insert(index, signer.clone());
        account.signers = list(signers);
    }
    Ok(())
}
