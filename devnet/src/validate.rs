//! Whether a transaction may enter the queue or a ledger.

use crate::apply::{self, Failed, Threshold};
use crate::entries::{LedgerParams, available_balance, extension_v3, starting_sequence};
use crate::envelope::Submitted;
use crate::fees;
use crate::outcome::Outcome;
use crate::signatures::{SignatureCache, SignatureChecker};
use crate::state::LedgerState;
use stellar_xdr::{
    AccountEntry, Operation, OperationResult, SignerKey, TransactionResultCode as Code,
};

/// What a transaction is judged against.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    /// The entries.
    pub state: &'a LedgerState,
    /// The ledger it would be in.
    pub ledger: LedgerParams,
    /// Seconds the next close is at least away: how far `minTime` may lie ahead.
    pub lower_offset: u64,
    /// Seconds the transaction must stay valid beyond the close time.
    pub upper_offset: u64,
    /// Signatures verified before.
    pub cache: &'a SignatureCache,
}

/// How far the checks of a transaction got when they failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Before its sequence number was found right: in a ledger it is not used.
    BeforeSequence(Code),
    /// After: in a ledger the sequence number is used all the same.
    AfterSequence(Code),
}

impl Failure {
    /// The code of the failure.
    pub fn code(self) -> Code {
        match self {
            Failure::BeforeSequence(code) | Failure::AfterSequence(code) => code,
        }
    }
}

impl Judge<'_> {
    /// The result an envelope would have, as far as it can be told without applying it.
    pub fn check(&self, tx: &Submitted) -> Outcome {
        if tx.bid() < 0 {
            return Outcome::refusal(Code::TxMalformed, 0);
        }
        let nominal = fees::minimum_fee(tx.operation_count(), self.ledger.base_fee);
        let mut outcome = Outcome::success(tx, nominal);
        if let Err((code, fee)) = self.check_outer(tx) {
            outcome.fee_charged = fee.unwrap_or(nominal);
            outcome.fail_outer(code);
            return outcome;
        }
        self.check_inner(tx, &mut outcome);
        outcome
    }

    /// The outer part of a fee-bump; an error carries the fee that would have been enough, where that is told.
    fn check_outer(&self, tx: &Submitted) -> Result<(), (Code, Option<i64>)> {
        let Some(bump) = &tx.bump else { return Ok(()) };
        if tx.bid() < fees::minimum_fee(tx.operation_count(), self.ledger.base_fee) {
            return Err((Code::TxInsufficientFee, None));
        }
        if let Some(needed) = fees::bump_shortfall(tx, &self.ledger) {
            return Err((Code::TxInsufficientFee, Some(needed)));
        }
        let Some(payer) = self.state.account(&bump.fee_source) else {
            return Err((Code::TxNoAccount, None));
        };
        let mut checker = SignatureChecker::new(&tx.hash, &bump.signatures, self.cache);
        if !checker.account_signed(payer, Threshold::Low.of(payer)) {
            return Err((Code::TxBadAuth, None));
        }
        if available_balance(payer, self.ledger.base_reserve) < tx.bid() {
            return Err((Code::TxInsufficientBalance, None));
        }
        if !checker.all_used() {
            return Err((Code::TxBadAuthExtra, None));
        }
        Ok(())
    }

    fn check_inner(&self, tx: &Submitted, outcome: &mut Outcome) {
        let mut checker = SignatureChecker::new(tx.inner_hash(), &tx.tx.signatures, self.cache);
        if let Err(failure) = self.check_common(tx, &mut checker, false) {
            outcome.fail(failure.code());
            return;
        }
        for (index, operation) in tx.operations().iter().enumerate() {
            if let Err(result) = self.check_operation(tx, operation, &mut checker) {
                outcome.operations[index] = *result;
                outcome.fail(Code::TxFailed);
                return;
            }
        }
        if !checker.all_used() {
            outcome.fail(Code::TxBadAuthExtra);
        }
    }

    fn check_operation(
        &self,
        tx: &Submitted,
        operation: &Operation,
        checker: &mut SignatureChecker<'_>,
    ) -> Result<(), Failed> {
        self.operation_signed(tx, operation, checker)?;
        apply::check(operation, &tx.operation_source(operation))
    }

    /// Whether the operation's source has signed; a source without an account needs only its key's signature here.
    pub fn operation_signed(
        &self,
        tx: &Submitted,
        operation: &Operation,
        checker: &mut SignatureChecker<'_>,
    ) -> Result<(), Failed> {
        let source = tx.operation_source(operation);
        let signed = match self.state.account(&source) {
            Some(account) => {
                checker.account_signed(account, apply::threshold(operation).of(account))
            }
            None if operation.source_account.is_none() => {
                return Err(Box::new(OperationResult::OpNoAccount));
            }
            None => checker.key_signed(&source),
        };
        if signed {
            Ok(())
        } else {
            Err(Box::new(OperationResult::OpBadAuth))
        }
    }

    /// Everything about the transaction but its operations. With `applying` the fee has been taken already.
    pub fn check_common(
        &self,
        tx: &Submitted,
        checker: &mut SignatureChecker<'_>,
        applying: bool,
    ) -> Result<(), Failure> {
        self.check_form(tx).map_err(Failure::BeforeSequence)?;
        let Some(account) = self.state.account(tx.source()) else {
            return Err(Failure::BeforeSequence(Code::TxNoAccount));
        };
        if self.is_bad_sequence(tx, account.seq_num.0) {
            return Err(Failure::BeforeSequence(Code::TxBadSeq));
        }
        if self.is_too_early_for(tx, account) {
            return Err(Failure::AfterSequence(Code::TxBadMinSeqAgeOrGap));
        }
        let extra: &[SignerKey] = tx.conditions().map_or(&[], |c| &c.extra_signers);
        if !checker.account_signed(account, Threshold::Low.of(account))
            || (!extra.is_empty() && !checker.all_signed(extra))
        {
            return Err(Failure::AfterSequence(Code::TxBadAuth));
        }
        let to_pay = if applying { 0 } else { tx.inner_bid() };
        if tx.bump.is_none() && available_balance(account, self.ledger.base_reserve) < to_pay {
            return Err(Failure::AfterSequence(Code::TxInsufficientBalance));
        }
        Ok(())
    }

    /// What does not depend on any account.
    fn check_form(&self, tx: &Submitted) -> Result<(), Code> {
        if let Some(conditions) = tx.conditions() {
            let extra = &conditions.extra_signers;
            let twice = extra.len() == 2 && extra[0] == extra[1];
            let empty_payload = |key: &SignerKey| matches!(key, SignerKey::Ed25519SignedPayload(s) if s.payload.is_empty());
            if twice || extra.iter().any(empty_payload) {
                return Err(Code::TxMalformed);
            }
        }
        if tx.operations().is_empty() {
            return Err(Code::TxMissingOperation);
        }
        if tx.has_soroban_data() {
            return Err(Code::TxMalformed);
        }
        if self.is_too_early(tx) {
            return Err(Code::TxTooEarly);
        }
        if self.is_too_late(tx) {
            return Err(Code::TxTooLate);
        }
        let alone = tx.bump.is_none();
        if alone && tx.inner_bid() < fees::inner_minimum_fee(tx, &self.ledger) {
            return Err(Code::TxInsufficientFee);
        }
        Ok(())
    }

    fn is_too_early(&self, tx: &Submitted) -> bool {
        let close_time = self.ledger.close_time.saturating_add(self.lower_offset);
        tx.time_bounds().is_some_and(|b| b.min_time.0 > close_time)
            || tx
                .ledger_bounds()
                .is_some_and(|b| b.min_ledger > self.ledger.ledger_seq)
    }

    fn is_too_late(&self, tx: &Submitted) -> bool {
        let close_time = self.ledger.close_time.saturating_add(self.upper_offset);
        tx.time_bounds()
            .is_some_and(|b| b.max_time.0 != 0 && b.max_time.0 < close_time)
            || tx
                .ledger_bounds()
                .is_some_and(|b| b.max_ledger != 0 && b.max_ledger <= self.ledger.ledger_seq)
    }

    fn is_bad_sequence(&self, tx: &Submitted, current: i64) -> bool {
        let sequence = tx.sequence();
        if sequence == starting_sequence(self.ledger.ledger_seq) {
            return true;
        }
        match tx.conditions().and_then(|c| c.min_seq_num.as_ref()) {
            Some(lowest) => current < lowest.0 || current >= sequence,
            None => current.checked_add(1) != Some(sequence),
        }
    }

    fn is_too_early_for(&self, tx: &Submitted, account: &AccountEntry) -> bool {
        let Some(conditions) = tx.conditions() else {
            return false;
        };
        let (seq_time, seq_ledger) =
            extension_v3(account).map_or((0, 0), |v3| (v3.seq_time.0, v3.seq_ledger));
        let close_time = self.ledger.close_time.saturating_add(self.lower_offset);
        let old_enough = close_time
            .checked_sub(conditions.min_seq_age.0)
            .is_some_and(|latest| latest >= seq_time);
        let far_enough = self
            .ledger
            .ledger_seq
            .checked_sub(conditions.min_seq_ledger_gap)
            .is_some_and(|latest| latest >= seq_ledger);
        !(old_enough && far_enough)
    }
}
