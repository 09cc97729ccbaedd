use super::*;
use crate::stellar::recorded::RESULTS;

/// The code as staff read it, for a result as the recordings name it.
fn said(recorded: &str) -> Option<String> {
    if recorded.contains("SUCCESS") {
        return None;
    }
    let code = recorded.trim_start_matches("txFEE_BUMP_INNER_FAILED/");
    Some(code.to_owned())
}

#[test]
fn recorded_results_read_as_the_node_named_them() {
    for (code, result, fee) in RESULTS {
        let outcome = decode(result).expect(code);
        let failure = outcome.failure.map(|failure| failure.to_string());
        assert_eq!(failure, said(code), "{code}");
        assert_eq!(outcome.fee_charged, fee, "{code}");
    }
}

fn result(result: xdr::TransactionResultResult) -> String {
    convert::write(&xdr::TransactionResult {
        fee_charged: 321,
        result,
        ext: xdr::TransactionResultExt::V0,
    })
}

fn bumped(result: xdr::InnerTransactionResultResult) -> xdr::TransactionResultResult {
    xdr::TransactionResultResult::TxFeeBumpInnerFailed(xdr::InnerTransactionResultPair {
        transaction_hash: xdr::Hash([1; 32]),
        result: xdr::InnerTransactionResult {
            fee_charged: 0,
            result,
            ext: xdr::InnerTransactionResultExt::V0,
        },
    })
}

fn read(text: &str) -> Option<Failure> {
    let outcome = decode(text).expect("a result");
    assert_eq!(outcome.fee_charged, 321);
    outcome.failure
}

/// Every code of a transaction, outermost and within a fee-bump.
#[test]
fn every_transaction_code_is_decoded_also_within_a_fee_bump() {
    use xdr::InnerTransactionResultResult as Inner;
    use xdr::TransactionResultResult as Outer;
    macro_rules! table {
        ($($xdr:ident => $code:ident,)*) => {
            vec![$((Outer::$xdr, Inner::$xdr, TxCode::$code),)*]
        };
    }
    let table = table! {
        TxTooEarly => TooEarly,
        TxTooLate => TooLate,
        TxMissingOperation => MissingOperation,
        TxBadSeq => BadSeq,
        TxBadAuth => BadAuth,
        TxInsufficientBalance => InsufficientBalance,
        TxNoAccount => NoAccount,
        TxInsufficientFee => InsufficientFee,
        TxBadAuthExtra => BadAuthExtra,
        TxInternalError => InternalError,
        TxNotSupported => NotSupported,
        TxBadSponsorship => BadSponsorship,
        TxBadMinSeqAgeOrGap => BadMinSeqAgeOrGap,
        TxMalformed => Malformed,
        TxSorobanInvalid => SorobanInvalid,
        TxFrozenKeyAccessed => FrozenKeyAccessed,
    };
    assert_eq!(table.len() + 1, TxCode::ALL.len(), "all but txFAILED");
    for (outer, inner, code) in table {
        assert_eq!(read(&result(outer)), Some(Failure::Tx(code)));
        assert_eq!(read(&result(bumped(inner))), Some(Failure::Tx(code)));
    }
    let empty = Outer::TxFailed(xdr::VecM::default());
    assert_eq!(read(&result(empty)), Some(Failure::Tx(TxCode::Failed)));
}

fn operation_codes() -> Vec<(xdr::OperationResult, OpFailure)> {
    use xdr::OperationResult as Op;
    use xdr::OperationResultTr as Tr;
    macro_rules! payment {
        ($($code:ident),*) => {
            [$((Op::OpInner(Tr::Payment(xdr::PaymentResult::$code)), OpFailure::Payment(PaymentCode::$code)),)*]
        };
    }
    macro_rules! create {
        ($($code:ident),*) => {
            [$((Op::OpInner(Tr::CreateAccount(xdr::CreateAccountResult::$code)), OpFailure::CreateAccount(CreateAccountCode::$code)),)*]
        };
    }
    let any = [
        (Op::OpBadAuth, OpCode::BadAuth),
        (Op::OpNoAccount, OpCode::NoAccount),
        (Op::OpNotSupported, OpCode::NotSupported),
        (Op::OpTooManySubentries, OpCode::TooManySubentries),
        (Op::OpExceededWorkLimit, OpCode::ExceededWorkLimit),
        (Op::OpTooManySponsoring, OpCode::TooManySponsoring),
    ];
    let mut all: Vec<_> = any
        .into_iter()
        .map(|(result, code)| (result, OpFailure::Any(code)))
        .collect();
    all.extend(payment![
        Malformed,
        Underfunded,
        SrcNoTrust,
        SrcNotAuthorized,
        NoDestination,
        NoTrust,
        NotAuthorized,
        LineFull,
        NoIssuer
    ]);
    all.extend(create![Malformed, Underfunded, LowReserve, AlreadyExist]);
    let count = OpCode::ALL.len() + PaymentCode::ALL.len() + CreateAccountCode::ALL.len();
    assert_eq!(all.len(), count);
    all
}

#[test]
fn every_operation_code_is_decoded_also_within_a_fee_bump() {
    for (operation, code) in operation_codes() {
        let outer = xdr::TransactionResultResult::TxFailed(one(operation.clone()));
        let inner = xdr::InnerTransactionResultResult::TxFailed(one(operation));
        assert_eq!(read(&result(outer)), Some(Failure::Op(code)));
        assert_eq!(read(&result(bumped(inner))), Some(Failure::Op(code)));
    }
}

fn one(operation: xdr::OperationResult) -> xdr::VecM<xdr::OperationResult> {
    vec![operation].try_into().expect("one operation")
}

/// A result with one number replaced, as a newer protocol would send it.
fn altered(text: &str, at: usize, number: i32) -> String {
    struct Raw(Vec<u8>);
    impl ReadXdr for Raw {
        fn read_xdr<R: Read>(reader: &mut Limited<R>) -> Result<Self, xdr::Error> {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes)?;
            Ok(Self(bytes))
        }
    }
    impl xdr::WriteXdr for Raw {
        fn write_xdr<W: std::io::Write>(&self, writer: &mut Limited<W>) -> Result<(), xdr::Error> {
            Ok(writer.inner.write_all(&self.0)?)
        }
    }
    let Raw(mut bytes) = convert::read(text).expect("bytes");
    bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
    convert::write(&Raw(bytes))
}

#[test]
fn numbers_of_a_newer_protocol_are_told_wherever_they_stand() {
    use xdr::InnerTransactionResultResult as Inner;
    use xdr::TransactionResultResult as Outer;
    let payment = || {
        one(xdr::OperationResult::OpInner(
            xdr::OperationResultTr::Payment(xdr::PaymentResult::NoTrust),
        ))
    };
    let plain = result(Outer::TxFailed(payment()));
    let bumped = result(bumped(Inner::TxFailed(payment())));
    // Offsets: the fee, the transaction's code, the count, the operation's code, its kind, its own code.
    for (text, at) in [
        (&plain, 8),
        (&plain, 16),
        (&plain, 24),
        (&bumped, 8),
        (&bumped, 52),
        (&bumped, 60),
        (&bumped, 68),
    ] {
        let unknown = altered(text, at, -77);
        assert_eq!(read(&unknown), Some(Failure::Unrecognized(-77)), "at {at}");
    }
}

#[test]
fn what_is_no_result_is_not_read() {
    let success = result(xdr::TransactionResultResult::TxSuccess(one(
        xdr::OperationResult::OpBadAuth,
    )));
    let odd_success = altered(&success, 16, 44);
    for text in ["", "AAAA", "no base64", &success[..20], &odd_success] {
        assert_eq!(decode(text), None, "{text}");
    }
}
