//! `begin_sponsoring_future_reserves` and `end_sponsoring_future_reserves`: who pays for entries made in between.

use super::{Context, Failed, inner};
use stellar_xdr::{
    AccountId, BeginSponsoringFutureReservesOp, BeginSponsoringFutureReservesResult as Begin,
    EndSponsoringFutureReservesResult as End, OperationResultTr,
};

fn begin_failed(result: Begin) -> Failed {
    Box::new(inner(OperationResultTr::BeginSponsoringFutureReserves(
        result,
    )))
}

pub(super) fn check(
    op: &BeginSponsoringFutureReservesOp,
    source: &AccountId,
) -> Result<(), Failed> {
    if op.sponsored_id == *source {
        return Err(begin_failed(Begin::Malformed));
    }
    Ok(())
}

pub(super) fn begin(
    op: &BeginSponsoringFutureReservesOp,
    context: &mut Context<'_>,
) -> Result<(), Failed> {
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

pub(super) fn end(context: &mut Context<'_>) -> Result<(), Failed> {
    if context.sponsorships.remove(&context.source_id()).is_none() {
        let failed = OperationResultTr::EndSponsoringFutureReserves(End::NotSponsored);
        return Err(Box::new(inner(failed)));
    }
    Ok(())
}
