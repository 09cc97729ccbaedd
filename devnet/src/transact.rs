//! One transaction in a ledger: its fee, then its sequence number, signatures and operations.

use crate::apply::{self, Context};
use crate::entries::{LedgerParams, stamp_sequence};
use crate::envelope::Submitted;
use crate::events;
use crate::outcome::Outcome;
use crate::signatures::{SignatureCache, SignatureChecker};
use crate::sponsorship::remove_signer;
use crate::state::LedgerState;
use crate::validate::{Failure, Judge};
use crate::xdr::list;
use std::collections::{BTreeMap, BTreeSet};
use stellar_xdr::{
    AccountId, ContractEvent, ExtensionPoint, Hash, LedgerEntryChange, LedgerEntryChanges,
    OperationMetaV2, SequenceNumber, SignerKey, TransactionMeta, TransactionMetaV4,
    TransactionResult, TransactionResultCode as Code,
};

/// A ledger while its transactions are applied.
pub struct Ledger<'a> {
    /// The entries.
    pub state: &'a mut LedgerState,
    /// Its parameters.
    pub params: LedgerParams,
    /// The network's id.
    pub network_id: &'a Hash,
    /// Signatures verified before.
    pub cache: &'a SignatureCache,
    /// Highest sequence number its transactions use, by source.
    pub max_sequences: BTreeMap<AccountId, i64>,
}

impl Ledger<'_> {
    /// Takes a fee of at most `fee` stroops; what was taken, and the changes it made.
    pub fn charge(&mut self, tx: &Submitted, fee: i64) -> (i64, LedgerEntryChanges) {
        self.state.begin();
        let mut taken = 0;
        if let Some(payer) = self.state.touch_account(tx.fee_source()) {
            // The reserve does not protect from fees; a payer left below it fails later.
            taken = fee.clamp(0, payer.balance);
            payer.balance -= taken;
        }
        let changes = self.state.changes();
        self.state.commit();
        (taken, changes)
    }

    /// Applies a transaction whose fee was taken already.
    pub fn apply(&mut self, tx: &Submitted, fee: i64) -> (TransactionResult, TransactionMeta) {
        let mut outcome = Outcome::success(tx, fee);
        let mut before = Vec::new();
        if tx.bump.is_some() {
            self.prepare_fee_source(tx, &mut before);
        }
        let valid = self.prepare(tx, &mut outcome, &mut before);
        let operations = if valid {
            self.apply_operations(tx, &mut outcome)
        } else {
            Vec::new()
        };
        let mut tx_events = Vec::new();
        if fee != 0 {
            tx_events.push(events::fee(self.network_id, tx.fee_source(), fee));
        }
        let meta = TransactionMeta::V4(TransactionMetaV4 {
            ext: ExtensionPoint::V0,
            tx_changes_before: LedgerEntryChanges(list(before)),
            operations: list(operations),
            tx_changes_after: LedgerEntryChanges(list(Vec::new())),
            soroban_meta: None,
            events: list(tx_events),
            diagnostic_events: list(Vec::new()),
        });
        (outcome.into_result(), meta)
    }

    /// The fee source of a fee-bump is loaded, and loses a signer that was only for this envelope.
    fn prepare_fee_source(&mut self, tx: &Submitted, before: &mut Vec<LedgerEntryChange>) {
        self.state.begin();
        if self.state.touch_account(tx.fee_source()).is_some() {
            self.remove_one_time_signer(tx.fee_source(), &tx.hash);
        }
        before.extend(self.state.changes().0.to_vec());
        self.state.commit();
    }

    /// Checks the transaction once more, uses its sequence number; whether its operations may be applied.
    fn prepare(
        &mut self,
        tx: &Submitted,
        outcome: &mut Outcome,
        before: &mut Vec<LedgerEntryChange>,
    ) -> bool {
        let checked = self.check(tx, outcome);
        self.state.begin();
        let uses_sequence = !matches!(checked, Err(Failure::BeforeSequence(_)));
        if uses_sequence && let Some(account) = self.state.touch_account(tx.source()) {
            account.seq_num = SequenceNumber(tx.sequence());
            stamp_sequence(account, &self.params);
        }
        let mut sources: BTreeSet<AccountId> = tx
            .operations()
            .iter()
            .map(|operation| tx.operation_source(operation))
            .collect();
        sources.insert(tx.source().clone());
        for source in &sources {
            self.remove_one_time_signer(source, tx.inner_hash());
        }
        before.extend(self.state.changes().0.to_vec());
        self.state.commit();
        if let Err(failure) = checked {
            outcome.fail(failure.code());
        }
        checked.is_ok()
    }

    fn check(&self, tx: &Submitted, outcome: &mut Outcome) -> Result<(), Failure> {
        let judge = Judge {
            state: self.state,
            ledger: self.params,
            lower_offset: 0,
            upper_offset: 0,
            cache: self.cache,
        };
        let mut checker = SignatureChecker::new(tx.inner_hash(), &tx.tx.signatures, self.cache);
        judge.check_common(tx, &mut checker, true)?;
        let mut all_signed = true;
        for (index, operation) in tx.operations().iter().enumerate() {
            if let Err(result) = judge.operation_signed(tx, operation, &mut checker) {
                outcome.operations[index] = *result;
                all_signed = false;
            }
        }
        if !all_signed {
            return Err(Failure::AfterSequence(Code::TxFailed));
        }
        if !checker.all_used() {
            return Err(Failure::AfterSequence(Code::TxBadAuthExtra));
        }
        Ok(())
    }

    fn remove_one_time_signer(&mut self, account: &AccountId, hash: &Hash) {
        let found = self.state.account(account).and_then(|account| {
            account
                .signers
                .iter()
                .position(|s| matches!(&s.key, SignerKey::PreAuthTx(key) if key.0 == hash.0))
        });
        if let Some(index) = found {
            remove_signer(self.state, account, index);
        }
    }

    /// Applies all operations, also those after a failed one; keeps their changes only if none fails.
    fn apply_operations(&mut self, tx: &Submitted, outcome: &mut Outcome) -> Vec<OperationMetaV2> {
        let mut sponsorships = BTreeMap::new();
        let mut metas = Vec::new();
        let mut success = true;
        self.state.begin();
        for (index, operation) in tx.operations().iter().enumerate() {
            self.state.begin();
            let mut context = Context {
                state: &mut *self.state,
                ledger: self.params,
                network_id: self.network_id,
                memo: &tx.inner().memo,
                source: tx.operation_address(operation),
                sponsorships: &mut sponsorships,
                max_sequences: &self.max_sequences,
                events: Vec::new(),
            };
            match apply::apply(operation, &mut context) {
                Ok(result) => {
                    let events = std::mem::take(&mut context.events);
                    metas.push(self.operation_meta(events));
                    self.state.commit();
                    outcome.operations[index] = result;
                }
                Err(result) => {
                    self.state.rollback();
                    outcome.operations[index] = *result;
                    success = false;
                }
            }
        }
        if success && sponsorships.is_empty() {
            self.state.commit();
            return metas;
        }
        self.state.rollback();
        outcome.fail(if success {
            Code::TxBadSponsorship
        } else {
            Code::TxFailed
        });
        Vec::new()
    }

    fn operation_meta(&self, events: Vec<ContractEvent>) -> OperationMetaV2 {
        OperationMetaV2 {
            ext: ExtensionPoint::V0,
            changes: self.state.changes(),
            events: list(events),
        }
    }
}
