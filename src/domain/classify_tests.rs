use super::*;

fn refused(failure: Failure) -> SendAnswer {
    SendAnswer::Refused(Refusal {
        failure,
        fee_charged: 2000,
    })
}

/// One row for each code of a transaction: what a refusal does, and its class in a ledger.
#[test]
fn every_transaction_code_has_its_row() {
    use Class::{Terminal, Transient};
    let table = [
        (TxCode::Failed, Terminal),
        (TxCode::TooEarly, Transient),
        (TxCode::TooLate, Transient),
        (TxCode::MissingOperation, Terminal),
        (TxCode::BadSeq, Transient),
        (TxCode::BadAuth, Terminal),
        (TxCode::InsufficientBalance, Transient),
        (TxCode::NoAccount, Transient),
        (TxCode::InsufficientFee, Transient),
        (TxCode::BadAuthExtra, Terminal),
        (TxCode::InternalError, Transient),
        (TxCode::NotSupported, Terminal),
        (TxCode::BadSponsorship, Terminal),
        (TxCode::BadMinSeqAgeOrGap, Transient),
        (TxCode::Malformed, Terminal),
        (TxCode::SorobanInvalid, Terminal),
        (TxCode::FrozenKeyAccessed, Terminal),
    ];
    assert_eq!(table.len(), TxCode::ALL.len());
    for (code, class) in table {
        let failure = Failure::Tx(code);
        let cause = Cause {
            class,
            code: code.to_string(),
        };
        assert_eq!(failure_cause(failure), cause, "{code}");
        let expected = match (code, class) {
            (TxCode::InsufficientFee, _) => SendDecision::RaiseFee { required: 2000 },
            (TxCode::TooLate, _) | (_, Terminal) => SendDecision::Stop(cause),
            (_, Transient) => SendDecision::Resend(ResendAfter::Soon, cause),
        };
        assert_eq!(after_send(&refused(failure)), expected, "{code}");
    }
}

#[test]
fn operation_codes_are_terminal_but_for_the_work_limit() {
    for code in OpCode::ALL {
        let class = if *code == OpCode::ExceededWorkLimit {
            Class::Transient
        } else {
            Class::Terminal
        };
        assert_eq!(
            failure_cause(Failure::Op(OpFailure::Any(*code))).class,
            class,
            "{code}"
        );
    }
    for code in PaymentCode::ALL {
        assert_eq!(
            failure_cause(Failure::Op(OpFailure::Payment(*code))).class,
            Class::Terminal,
            "{code}"
        );
    }
    for code in CreateAccountCode::ALL {
        assert_eq!(
            failure_cause(Failure::Op(OpFailure::CreateAccount(*code))).class,
            Class::Terminal,
            "{code}"
        );
    }
    assert_eq!(
        failure_cause(Failure::Unrecognized(-77)).class,
        Class::Terminal
    );
}

#[test]
fn no_fault_of_the_transport_stops_or_acknowledges_anything() {
    let faults = [
        Fault::Connect,
        Fault::Reset,
        Fault::Timeout,
        Fault::Http(502),
        Fault::Http(503),
        Fault::Http(504),
        Fault::Http(429),
        Fault::Rpc(-32603),
        Fault::Rpc(-32001),
        Fault::Rpc(-32098),
        Fault::UnknownStatus,
        Fault::Malformed,
    ];
    for fault in faults {
        let cause = Cause {
            class: Class::Transient,
            code: fault.code(),
        };
        assert_eq!(
            after_send(&SendAnswer::Unknown(fault)),
            SendDecision::Resend(ResendAfter::Soon, cause)
        );
    }
    assert!(matches!(
        after_send(&SendAnswer::TryAgainLater),
        SendDecision::Resend(ResendAfter::Ban, _)
    ));
    assert_eq!(after_send(&SendAnswer::Pending), SendDecision::Acknowledged);
    assert_eq!(
        after_send(&SendAnswer::Duplicate),
        SendDecision::Acknowledged
    );
}

#[test]
fn an_underfunded_treasury_raises_an_alarm_and_a_payee_without_trust_does_not() {
    assert_eq!(
        alarm(Failure::Op(OpFailure::Payment(PaymentCode::Underfunded))),
        Alarm::Treasury
    );
    assert_eq!(
        alarm(Failure::Op(OpFailure::Payment(PaymentCode::NoTrust))),
        Alarm::None
    );
    assert_eq!(alarm(Failure::Tx(TxCode::BadAuth)), Alarm::Operator);
    assert_eq!(
        alarm(Failure::Tx(TxCode::InsufficientBalance)),
        Alarm::Treasury
    );
}

#[test]
fn codes_read_as_staff_know_them() {
    let failure = Failure::Op(OpFailure::Payment(PaymentCode::NoTrust));
    assert_eq!(failure_cause(failure).code, "txFAILED/PAYMENT_NO_TRUST");
    assert_eq!(failure_cause(Failure::Tx(TxCode::BadSeq)).code, "txBAD_SEQ");
}
