//! The result of a transaction while it is being worked out.

use crate::apply::default_result;
use crate::envelope::Submitted;
use crate::xdr::list;
use stellar_xdr::{
    InnerTransactionResult, InnerTransactionResultExt, InnerTransactionResultPair,
    InnerTransactionResultResult as Inner, OperationResult, TransactionResult,
    TransactionResultCode as Code, TransactionResultExt, TransactionResultResult as Outer,
};

/// A result under construction: success until something says otherwise.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What is charged, or in a refusal what would have been, in stroops.
    pub fee_charged: i64,
    /// Code of the outer transaction of a fee-bump that failed before its inner one was looked at.
    outer: Option<Code>,
    /// Code of the transaction itself.
    code: Code,
    /// One result per operation, read only for success and failure.
    pub operations: Vec<OperationResult>,
    inner_hash: Option<stellar_xdr::Hash>,
}

impl Outcome {
    /// Success of every operation, at `fee_charged`.
    pub fn success(tx: &Submitted, fee_charged: i64) -> Self {
        Self {
            fee_charged,
            outer: None,
            code: Code::TxSuccess,
            operations: tx.operations().iter().map(default_result).collect(),
            inner_hash: tx.bump.as_ref().map(|b| b.inner_hash.clone()),
        }
    }

    /// A refusal that says nothing of the inner transaction.
    pub fn refusal(code: Code, fee_charged: i64) -> Self {
        Self {
            fee_charged,
            outer: Some(code),
            code,
            operations: Vec::new(),
            inner_hash: None,
        }
    }

    /// Fails the transaction itself; the inner one of a fee-bump.
    pub fn fail(&mut self, code: Code) {
        self.code = code;
    }

    /// Fails the outer transaction of a fee-bump.
    pub fn fail_outer(&mut self, code: Code) {
        self.outer = Some(code);
    }

    /// Whether nothing has failed so far.
    pub fn is_success(&self) -> bool {
        self.outer.is_none() && self.code == Code::TxSuccess
    }

    /// The finished result.
    pub fn into_result(self) -> TransactionResult {
        let result = match (self.outer, self.inner_hash) {
            (Some(code), _) => outer_result(code, Vec::new()),
            (None, None) => outer_result(self.code, self.operations),
            (None, Some(transaction_hash)) => {
                let success = self.code == Code::TxSuccess;
                let pair = InnerTransactionResultPair {
                    transaction_hash,
                    result: InnerTransactionResult {
                        // Since protocol 25 the inner result tells no fee of its own.
                        fee_charged: 0,
                        result: inner_result(self.code, self.operations),
                        ext: InnerTransactionResultExt::V0,
                    },
                };
                if success {
                    Outer::TxFeeBumpInnerSuccess(pair)
                } else {
                    Outer::TxFeeBumpInnerFailed(pair)
                }
            }
        };
        TransactionResult {
            fee_charged: self.fee_charged,
            result,
            ext: TransactionResultExt::V0,
        }
    }
}

fn outer_result(code: Code, operations: Vec<OperationResult>) -> Outer {
    match code {
        Code::TxSuccess => Outer::TxSuccess(list(operations)),
        Code::TxFailed => Outer::TxFailed(list(operations)),
        Code::TxTooEarly => Outer::TxTooEarly,
        Code::TxTooLate => Outer::TxTooLate,
        Code::TxMissingOperation => Outer::TxMissingOperation,
        Code::TxBadSeq => Outer::TxBadSeq,
        Code::TxBadAuth => Outer::TxBadAuth,
        Code::TxInsufficientBalance => Outer::TxInsufficientBalance,
        Code::TxNoAccount => Outer::TxNoAccount,
        Code::TxInsufficientFee => Outer::TxInsufficientFee,
        Code::TxBadAuthExtra => Outer::TxBadAuthExtra,
        Code::TxNotSupported => Outer::TxNotSupported,
        Code::TxBadSponsorship => Outer::TxBadSponsorship,
        Code::TxBadMinSeqAgeOrGap => Outer::TxBadMinSeqAgeOrGap,
        Code::TxMalformed => Outer::TxMalformed,
        Code::TxSorobanInvalid => Outer::TxSorobanInvalid,
        Code::TxFrozenKeyAccessed => Outer::TxFrozenKeyAccessed,
        // The last two need an inner pair, which only `into_result` makes.
        Code::TxInternalError | Code::TxFeeBumpInnerSuccess | Code::TxFeeBumpInnerFailed => {
            Outer::TxInternalError
        }
    }
}

fn inner_result(code: Code, operations: Vec<OperationResult>) -> Inner {
    match code {
        Code::TxSuccess => Inner::TxSuccess(list(operations)),
        Code::TxFailed => Inner::TxFailed(list(operations)),
        Code::TxTooEarly => Inner::TxTooEarly,
        Code::TxTooLate => Inner::TxTooLate,
        Code::TxMissingOperation => Inner::TxMissingOperation,
        Code::TxBadSeq => Inner::TxBadSeq,
        Code::TxBadAuth => Inner::TxBadAuth,
        Code::TxInsufficientBalance => Inner::TxInsufficientBalance,
        Code::TxNoAccount => Inner::TxNoAccount,
        Code::TxInsufficientFee => Inner::TxInsufficientFee,
        Code::TxBadAuthExtra => Inner::TxBadAuthExtra,
        Code::TxNotSupported => Inner::TxNotSupported,
        Code::TxBadSponsorship => Inner::TxBadSponsorship,
        Code::TxBadMinSeqAgeOrGap => Inner::TxBadMinSeqAgeOrGap,
        Code::TxMalformed => Inner::TxMalformed,
        Code::TxSorobanInvalid => Inner::TxSorobanInvalid,
        Code::TxFrozenKeyAccessed => Inner::TxFrozenKeyAccessed,
        Code::TxInternalError | Code::TxFeeBumpInnerSuccess | Code::TxFeeBumpInnerFailed => {
            Inner::TxInternalError
        }
    }
}
