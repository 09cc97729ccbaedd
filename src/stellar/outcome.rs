//! Results of transactions, decoded to the domain's codes. A number of a newer protocol becomes
//! [`Failure::Unrecognized`]; nothing the network sends ends the process.

use std::io::Read;

use soroban_client::xdr;
use xdr::{Limited, ReadXdr};

use crate::domain::codes::{CreateAccountCode, Failure, OpCode, OpFailure, PaymentCode, TxCode};

use super::convert;

/// What became of a transaction, or would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `None`: it succeeded.
    pub failure: Option<Failure>,
    /// Fee, in stroops: of the whole, also for a fee-bump. In a refusal nothing was charged.
    pub fee_charged: i64,
}

/// Reads a base64 `TransactionResult`; a fee-bump's inner result stands for the whole. `None`: it cannot be read.
#[must_use]
pub fn decode(result: &str) -> Option<Outcome> {
    match convert::read::<xdr::TransactionResult>(result) {
        Some(result) => Some(Outcome {
            failure: failure_of(&result.result),
            fee_charged: result.fee_charged,
        }),
        None => convert::read::<Probe>(result).map(|probe| Outcome {
            failure: Some(Failure::Unrecognized(probe.number)),
            fee_charged: probe.fee_charged,
        }),
    }
}

fn failure_of(result: &xdr::TransactionResultResult) -> Option<Failure> {
    use xdr::InnerTransactionResultResult as Inner;
    use xdr::TransactionResultResult as Outer;
    match result {
        Outer::TxSuccess(_) | Outer::TxFeeBumpInnerSuccess(_) => None,
        Outer::TxFailed(operations) => Some(first_failure(operations)),
        Outer::TxFeeBumpInnerFailed(pair) => Some(match &pair.result.result {
            Inner::TxFailed(operations) => first_failure(operations),
            inner => of_number(inner.discriminant().into()),
        }),
        other => Some(of_number(other.discriminant().into())),
    }
}

fn of_number(number: i32) -> Failure {
    TxCode::from_number(number).map_or(Failure::Unrecognized(number), Failure::Tx)
}

/// The failure of the first operation that failed.
fn first_failure(operations: &[xdr::OperationResult]) -> Failure {
    operations
        .iter()
        .find_map(operation_failure)
        .unwrap_or(Failure::Tx(TxCode::Failed))
}

fn operation_failure(result: &xdr::OperationResult) -> Option<Failure> {
    let recognized = |number: i32, failure: Option<OpFailure>| match number {
        0 => None,
        _ => Some(failure.map_or(Failure::Unrecognized(number), Failure::Op)),
    };
    match result {
        xdr::OperationResult::OpInner(xdr::OperationResultTr::Payment(result)) => {
            let number = result.discriminant().into();
            recognized(
                number,
                PaymentCode::from_number(number).map(OpFailure::Payment),
            )
        }
        xdr::OperationResult::OpInner(xdr::OperationResultTr::CreateAccount(result)) => {
            let number = result.discriminant().into();
            let code = CreateAccountCode::from_number(number);
            recognized(number, code.map(OpFailure::CreateAccount))
        }
        // An operation of a kind that is not built here: whoever sent it knows its codes.
        xdr::OperationResult::OpInner(_) => None,
        other => {
            let number = other.discriminant().into();
            recognized(number, OpCode::from_number(number).map(OpFailure::Any))
        }
    }
}

/// Reads no more of a result than its numbers, down to the one that this version does not know.
struct Probe {
    fee_charged: i64,
    number: i32,
}

const FEE_BUMP_INNER_FAILED: i32 = -13;
const FAILED: i32 = -1;
const OP_INNER: i32 = 0;

impl ReadXdr for Probe {
    fn read_xdr<R: Read>(reader: &mut Limited<R>) -> Result<Self, xdr::Error> {
        let fee_charged = i64::read_xdr(reader)?;
        let mut number = i32::read_xdr(reader)?;
        if number == FEE_BUMP_INNER_FAILED {
            xdr::Hash::read_xdr(reader)?;
            i64::read_xdr(reader)?;
            number = i32::read_xdr(reader)?;
        }
        if number == FAILED {
            u32::read_xdr(reader)?;
            number = i32::read_xdr(reader)?;
            if number == OP_INNER {
                i32::read_xdr(reader)?;
                number = i32::read_xdr(reader)?;
            }
        }
        // A success whose details are new, or numbers that were all known: the fault lies elsewhere.
        if number >= 0 {
            return Err(xdr::Error::Invalid);
        }
        std::io::copy(reader, &mut std::io::sink())?;
        Ok(Self {
            fee_charged,
            number,
        })
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
