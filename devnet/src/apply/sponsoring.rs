//! `begin_sponsoring_future_reserves` and `end_sponsoring_future_reserves`: who pays for entries made in between.

use super::{Context, inner};
use stellar_xdr::{
    AccountId, BeginSponsoringFutureReservesOp, BeginSponsoringFutureReservesResult as Begin,
    EndSponsoringFutureReservesResult as End, OperationResult, OperationResultTr,
};

fn begin_failed(result: Begin) -> OperationResult {
    inner(OperationResultTr::BeginSponsoringFutureReserves(result))
}

pub(super) fn check(
    op: &BeginSponsoringFutureReservesOp,
    source: &AccountId,
) -> Result<(), OperationResult> {
    if op.sponsored_id == *source {
        return Err(begin_failed(Begin::Malformed));
    }
    Ok(())
}

pub(super) fn begin(
    op: &BeginSponsoringFutureReservesOp,
    context: &mut Context<'_>,
) -> Result<(), OperationResult> {
    let sponsor = context.source_id();
    let sponsorships = &mut *context.sponsorships;
    if sponsorships.contains_key(&op.sponsored_id) {
        return Err(begin_failed(Begin::AlreadySponsored));
    }
    let sponsored_sponsors = sponsorships.values().any(|id| *id == op.sponsored_id);
    if sponsorships.contains_key(&sponsor) || sponsored_sponsors {
        return Err(begin_failed(Begin::Recursive));
    }
    sponsorships.insert(op.sponsored_id.clone(), sponsor);
    Ok(())
}

pub(super) fn end(context: &mut Context<'_>) -> Result<(), OperationResult> {
    match context.sponsorships.remove(&context.source_id()) {
        Some(_) => Ok(()),
        None => Err(inner(OperationResultTr::EndSponsoringFutureReserves(
            End::NotSponsored,
        ))),
    }
}
