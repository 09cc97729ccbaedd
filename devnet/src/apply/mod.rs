//! Operations: one file each, and what they have in common.

mod account_merge;
mod bump_sequence;
mod change_trust;
mod clawback;
mod create_account;
mod payment;
mod set_options;
mod sponsoring;
mod trust_flags;

use crate::entries::LedgerParams;
use crate::state::LedgerState;
use crate::xdr::account_of;
use std::collections::BTreeMap;
use stellar_xdr::{
    AccountEntry, AccountId, AccountMergeResult, AllowTrustResult,
    BeginSponsoringFutureReservesResult, BumpSequenceResult, ChangeTrustAsset, ChangeTrustResult,
    ClawbackResult, ContractEvent, CreateAccountResult, EndSponsoringFutureReservesResult, Hash,
    Memo, MuxedAccount, Operation, OperationBody, OperationResult, OperationResultTr,
    OperationType, PaymentResult, SetOptionsResult, SetTrustLineFlagsResult,
};

/// How much signing weight something needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Fees, sequence numbers.
    Low,
    /// Payments and most others.
    Medium,
    /// Signers, thresholds, the account's end.
    High,
}

impl Threshold {
    /// The weight the account asks for.
    pub fn of(self, account: &AccountEntry) -> u8 {
        let [_, low, medium, high] = account.thresholds.0;
        match self {
            Threshold::Low => low,
            Threshold::Medium => medium,
            Threshold::High => high,
        }
    }
}

/// What an operation is applied to.
pub struct Context<'a> {
    /// The entries, with an open frame.
    pub state: &'a mut LedgerState,
    /// The ledger being applied.
    pub ledger: LedgerParams,
    /// The network's id, which asset contracts derive from.
    pub network_id: &'a Hash,
    /// The transaction's memo, which events tell.
    pub memo: &'a Memo,
    /// The operation's source, with its muxed id.
    pub source: &'a MuxedAccount,
    /// Who sponsors whom within this transaction: sponsored to sponsor.
    pub sponsorships: &'a mut BTreeMap<AccountId, AccountId>,
    /// Highest sequence number of this ledger's transactions, for accounts that use one.
    pub max_sequences: &'a BTreeMap<AccountId, i64>,
    /// Events of the operation so far.
    pub events: Vec<ContractEvent>,
}

impl Context<'_> {
    /// The operation's source account.
    pub fn source_id(&self) -> AccountId {
        account_of(self.source)
    }
}

/// The result of an operation that failed.
pub type Failed = Box<OperationResult>;

/// The operation's result around its own result.
fn inner(result: OperationResultTr) -> OperationResult {
    OperationResult::OpInner(result)
}

/// The type of the first operation this network does not simulate, if there is one.
///
/// A real node can be told to leave operation types out of its queue; it then answers `FILTERED`. That is what this
/// network does with types it has no rules for, rather than to invent a result.
pub fn unsupported(operations: &[Operation]) -> Option<OperationType> {
    let supported = |operation: &&Operation| match &operation.body {
        OperationBody::CreateAccount(_)
        | OperationBody::Payment(_)
        | OperationBody::SetOptions(_)
        | OperationBody::AccountMerge(_)
        | OperationBody::BumpSequence(_)
        | OperationBody::AllowTrust(_)
        | OperationBody::SetTrustLineFlags(_)
        | OperationBody::Clawback(_)
        | OperationBody::BeginSponsoringFutureReserves(_)
        | OperationBody::EndSponsoringFutureReserves => true,
        OperationBody::ChangeTrust(op) => !matches!(op.line, ChangeTrustAsset::PoolShare(_)),
        OperationBody::PathPaymentStrictReceive(_)
        | OperationBody::ManageSellOffer(_)
        | OperationBody::CreatePassiveSellOffer(_)
        | OperationBody::Inflation
        | OperationBody::ManageData(_)
        | OperationBody::ManageBuyOffer(_)
        | OperationBody::PathPaymentStrictSend(_)
        | OperationBody::CreateClaimableBalance(_)
        | OperationBody::ClaimClaimableBalance(_)
        | OperationBody::RevokeSponsorship(_)
        | OperationBody::ClawbackClaimableBalance(_)
        | OperationBody::LiquidityPoolDeposit(_)
        | OperationBody::LiquidityPoolWithdraw(_)
        | OperationBody::InvokeHostFunction(_)
        | OperationBody::ExtendFootprintTtl(_)
        | OperationBody::RestoreFootprint(_) => false,
    };
    let first = operations.iter().find(|operation| !supported(operation))?;
    Some(first.body.discriminant())
}

/// The weight an operation asks of its source.
pub fn threshold(operation: &Operation) -> Threshold {
    match &operation.body {
        OperationBody::SetOptions(op) => set_options::threshold(op),
        OperationBody::AccountMerge(_) => Threshold::High,
        OperationBody::BumpSequence(_)
        | OperationBody::AllowTrust(_)
        | OperationBody::SetTrustLineFlags(_) => Threshold::Low,
        _ => Threshold::Medium,
    }
}

/// The result an operation has before anything failed.
pub fn default_result(operation: &Operation) -> OperationResult {
    inner(match &operation.body {
        OperationBody::CreateAccount(_) => {
            OperationResultTr::CreateAccount(CreateAccountResult::Success)
        }
        OperationBody::Payment(_) => OperationResultTr::Payment(PaymentResult::Success),
        OperationBody::SetOptions(_) => OperationResultTr::SetOptions(SetOptionsResult::Success),
        OperationBody::ChangeTrust(_) => OperationResultTr::ChangeTrust(ChangeTrustResult::Success),
        OperationBody::AccountMerge(_) => {
            OperationResultTr::AccountMerge(AccountMergeResult::Success(0))
        }
        OperationBody::BumpSequence(_) => {
            OperationResultTr::BumpSequence(BumpSequenceResult::Success)
        }
        OperationBody::AllowTrust(_) => OperationResultTr::AllowTrust(AllowTrustResult::Success),
        OperationBody::SetTrustLineFlags(_) => {
            OperationResultTr::SetTrustLineFlags(SetTrustLineFlagsResult::Success)
        }
        OperationBody::Clawback(_) => OperationResultTr::Clawback(ClawbackResult::Success),
        OperationBody::BeginSponsoringFutureReserves(_) => {
            OperationResultTr::BeginSponsoringFutureReserves(
                BeginSponsoringFutureReservesResult::Success,
            )
        }
        OperationBody::EndSponsoringFutureReserves => {
            OperationResultTr::EndSponsoringFutureReserves(
                EndSponsoringFutureReservesResult::Success,
            )
        }
        // Filtered before they get a result.
        _ => return OperationResult::OpNotSupported,
    })
}

/// Whether an operation is well formed, whatever the ledger holds.
pub fn check(operation: &Operation, source: &AccountId) -> Result<(), Failed> {
    match &operation.body {
        OperationBody::CreateAccount(op) => create_account::check(op, source),
        OperationBody::Payment(op) => payment::check(op),
        OperationBody::SetOptions(op) => set_options::check(op, source),
        OperationBody::ChangeTrust(op) => change_trust::check(op, source),
        OperationBody::AccountMerge(destination) => account_merge::check(destination, source),
        OperationBody::BumpSequence(op) => bump_sequence::check(op),
        OperationBody::AllowTrust(op) => trust_flags::check_allow(op, source),
        OperationBody::SetTrustLineFlags(op) => trust_flags::check_set(op, source),
        OperationBody::Clawback(op) => clawback::check(op, source),
        OperationBody::BeginSponsoringFutureReserves(op) => sponsoring::check(op, source),
        OperationBody::EndSponsoringFutureReserves => Ok(()),
        _ => Err(Box::new(OperationResult::OpNotSupported)),
    }
}

/// Applies one operation inside the open frame; an error leaves the frame to be rolled back.
pub fn apply(operation: &Operation, context: &mut Context<'_>) -> Result<OperationResult, Failed> {
    let source = context.source_id();
    if context.state.account(&source).is_none() {
        return Err(Box::new(OperationResult::OpNoAccount));
    }
    check(operation, &source)?;
    match &operation.body {
        OperationBody::CreateAccount(op) => create_account::apply(op, context)?,
        OperationBody::Payment(op) => payment::apply(op, context)?,
        OperationBody::SetOptions(op) => set_options::apply(op, context)?,
        OperationBody::ChangeTrust(op) => change_trust::apply(op, context)?,
        OperationBody::AccountMerge(destination) => {
            return account_merge::apply(destination, context);
        }
        OperationBody::BumpSequence(op) => bump_sequence::apply(op, context),
        OperationBody::AllowTrust(op) => trust_flags::allow(op, context)?,
        OperationBody::SetTrustLineFlags(op) => trust_flags::set(op, context)?,
        OperationBody::Clawback(op) => clawback::apply(op, context)?,
        OperationBody::BeginSponsoringFutureReserves(op) => sponsoring::begin(op, context)?,
        OperationBody::EndSponsoringFutureReserves => sponsoring::end(context)?,
        _ => return Err(Box::new(OperationResult::OpNotSupported)),
    }
    Ok(default_result(operation))
}
