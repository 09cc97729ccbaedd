//! Results as the traces write them: `txFAILED/PAYMENT_SUCCESS,PAYMENT_NO_DESTINATION`.

use stellar_xdr::{
    InnerTransactionResultResult as Inner, OperationResult, OperationResultTr, TransactionResult,
    TransactionResultResult as Outer,
};

/// The code of a result, with one code for each operation.
pub fn code(result: &TransactionResult) -> String {
    let name = tx_name(result.result.discriminant().name());
    match &result.result {
        Outer::TxSuccess(operations) | Outer::TxFailed(operations) => {
            with_operations(&name, operations)
        }
        Outer::TxFeeBumpInnerSuccess(pair) | Outer::TxFeeBumpInnerFailed(pair) => {
            let inner = &pair.result.result;
            let inner_name = tx_name(inner.discriminant().name());
            let inner = match inner {
                Inner::TxSuccess(operations) | Inner::TxFailed(operations) => {
                    with_operations(&inner_name, operations)
                }
                _ => inner_name,
            };
            format!("{name}/{inner}")
        }
        _ => name,
    }
}

/// Writes repetitions out: `CODE*3` is `CODE,CODE,CODE`. A count that is no number stays as it is.
pub fn expand(code: &str) -> String {
    let (head, operations) = code.rsplit_once('/').unwrap_or(("", code));
    let expanded: Vec<String> = operations
        .split(',')
        .map(|part| match part.split_once('*') {
            Some((name, count)) => match count.parse::<u8>() {
                Ok(count) => vec![name; usize::from(count)].join(","),
                Err(_) => part.to_owned(),
            },
            None => part.to_owned(),
        })
        .collect();
    let operations = expanded.join(",");
    if head.is_empty() {
        operations
    } else {
        format!("{head}/{operations}")
    }
}

fn with_operations(name: &str, operations: &[OperationResult]) -> String {
    let codes: Vec<String> = operations.iter().map(operation_code).collect();
    if codes.is_empty() {
        return name.to_owned();
    }
    format!("{name}/{}", codes.join(","))
}

fn operation_code(result: &OperationResult) -> String {
    let OperationResult::OpInner(result) = result else {
        let name = result.discriminant().name();
        return format!("op{}", upper_snake(name.trim_start_matches("Op")));
    };
    let code = match result {
        OperationResultTr::CreateAccount(r) => r.discriminant().name(),
        OperationResultTr::Payment(r) => r.discriminant().name(),
        OperationResultTr::SetOptions(r) => r.discriminant().name(),
        OperationResultTr::ChangeTrust(r) => r.discriminant().name(),
        OperationResultTr::AccountMerge(r) => r.discriminant().name(),
        OperationResultTr::BumpSequence(r) => r.discriminant().name(),
        OperationResultTr::BeginSponsoringFutureReserves(r) => r.discriminant().name(),
        OperationResultTr::EndSponsoringFutureReserves(r) => r.discriminant().name(),
        // No other operation is taken by this network.
        _ => "unknown",
    };
    format!(
        "{}_{}",
        upper_snake(result.discriminant().name()),
        upper_snake(code)
    )
}

fn tx_name(name: &str) -> String {
    format!("tx{}", upper_snake(name.trim_start_matches("Tx")))
}

/// `AlreadyExist` as `ALREADY_EXIST`.
fn upper_snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    for (index, letter) in name.chars().enumerate() {
        if index > 0 && letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn repetitions_are_written_out() {
        assert_eq!(expand("txSUCCESS/A*3"), "txSUCCESS/A,A,A");
        assert_eq!(expand("txSUCCESS/A,B*2"), "txSUCCESS/A,B,B");
        assert_eq!(expand("txBAD_SEQ"), "txBAD_SEQ");
        assert_eq!(expand("a/b/C*2"), "a/b/C,C");
    }
}
