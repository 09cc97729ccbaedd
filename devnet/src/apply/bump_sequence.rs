//! `bump_sequence`: moves the source's sequence number forward.

use super::{Context, Failed, inner};
use crate::entries::stamp_sequence;
use stellar_xdr::{BumpSequenceOp, BumpSequenceResult, OperationResultTr};

pub(super) fn check(op: &BumpSequenceOp) -> Result<(), Failed> {
    if op.bump_to.0 < 0 {
        let bad = OperationResultTr::BumpSequence(BumpSequenceResult::BadSeq);
        return Err(Box::new(inner(bad)));
    }
    Ok(())
}

/// A bump to or below the present number succeeds and does nothing.
pub(super) fn apply(op: &BumpSequenceOp, context: &mut Context<'_>) {
    let ledger = context.ledger;
    if let Some(account) = context.state.touch_account(&context.source_id()) {
        stamp_sequence(account, &ledger);
        if op.bump_to.0 > account.seq_num.0 {
            account.seq_num = op.bump_to.clone();
        }
    }
}
