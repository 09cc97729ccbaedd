use super::*;
use proptest::prelude::*;

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

/// One row for each code that does not call an operator: who else has to act, if anybody has to.
#[test]
fn alarms_go_to_whoever_can_act() {
    let payment = |code| Failure::Op(OpFailure::Payment(code));
    let creation = |code| Failure::Op(OpFailure::CreateAccount(code));
    let table = [
        (payment(PaymentCode::Underfunded), Alarm::Treasury),
        (payment(PaymentCode::SrcNoTrust), Alarm::Treasury),
        (payment(PaymentCode::SrcNotAuthorized), Alarm::Treasury),
        (creation(CreateAccountCode::Underfunded), Alarm::Treasury),
        (Failure::Tx(TxCode::InsufficientBalance), Alarm::Treasury),
        (payment(PaymentCode::NoDestination), Alarm::None),
        (payment(PaymentCode::NoTrust), Alarm::None),
        (payment(PaymentCode::NotAuthorized), Alarm::None),
        (payment(PaymentCode::LineFull), Alarm::None),
        (payment(PaymentCode::NoIssuer), Alarm::None),
        (creation(CreateAccountCode::LowReserve), Alarm::None),
        (creation(CreateAccountCode::AlreadyExist), Alarm::None),
        (Failure::Tx(TxCode::TooEarly), Alarm::None),
        (Failure::Tx(TxCode::TooLate), Alarm::None),
        (Failure::Tx(TxCode::BadSeq), Alarm::None),
        (Failure::Tx(TxCode::InsufficientFee), Alarm::None),
    ];
    for failure in every_failure() {
        let row = table.iter().find(|(code, _)| *code == failure);
        let expected = row.map_or(Alarm::Operator, |(_, alarm)| *alarm);
        assert_eq!(alarm(failure), expected, "{failure}");
    }
}

#[test]
fn codes_read_as_staff_know_them() {
    let failure = Failure::Op(OpFailure::Payment(PaymentCode::NoTrust));
    assert_eq!(failure_cause(failure).code, "txFAILED/PAYMENT_NO_TRUST");
    assert_eq!(failure_cause(Failure::Tx(TxCode::BadSeq)).code, "txBAD_SEQ");
    assert_eq!(
        Failure::Unrecognized(-77).to_string(),
        "unrecognized code -77"
    );
}

#[test]
fn classes_and_faults_are_told_and_stored_under_these_names() {
    assert_eq!(Class::Transient.as_str(), "transient");
    assert_eq!(Class::Terminal.as_str(), "terminal");
    assert_eq!(Cause::expired().code, "expired");
    let table = [
        (Fault::Connect, "connect"),
        (Fault::Reset, "connection_reset"),
        (Fault::Timeout, "timeout"),
        (Fault::Http(503), "http_503"),
        (Fault::Rpc(-32603), "rpc_-32603"),
        (Fault::UnknownStatus, "unknown_status"),
        (Fault::Malformed, "malformed_answer"),
    ];
    for (fault, name) in table {
        assert_eq!(fault.code(), name);
    }
}

/// Every failure that a result can name, and one that none can.
fn every_failure() -> Vec<Failure> {
    let tx = TxCode::ALL.iter().map(|code| Failure::Tx(*code));
    let any = OpCode::ALL.iter().map(|code| OpFailure::Any(*code));
    let payment = PaymentCode::ALL.iter();
    let payment = payment.map(|code| OpFailure::Payment(*code));
    let creation = CreateAccountCode::ALL.iter();
    let creation = creation.map(|code| OpFailure::CreateAccount(*code));
    let operations = any.chain(payment).chain(creation).map(Failure::Op);
    tx.chain(operations)
        .chain([Failure::Unrecognized(-77)])
        .collect()
}

/// Failures of every code, known and unknown.
pub fn failures() -> impl Strategy<Value = Failure> {
    let unknown = any::<i32>().prop_map(Failure::Unrecognized);
    prop_oneof![8 => prop::sample::select(every_failure()), 1 => unknown]
}

fn faults() -> impl Strategy<Value = Fault> {
    prop_oneof![
        prop::sample::select(vec![
            Fault::Connect,
            Fault::Reset,
            Fault::Timeout,
            Fault::UnknownStatus,
            Fault::Malformed,
        ]),
        any::<u16>().prop_map(Fault::Http),
        any::<i32>().prop_map(Fault::Rpc),
    ]
}

/// Whatever a send may answer.
pub fn answers() -> impl Strategy<Value = SendAnswer> {
    let refused = (failures(), any::<i64>()).prop_map(|(failure, fee_charged)| {
        SendAnswer::Refused(Refusal {
            failure,
            fee_charged,
        })
    });
    prop_oneof![
        1 => Just(SendAnswer::Pending),
        1 => Just(SendAnswer::Duplicate),
        1 => Just(SendAnswer::TryAgainLater),
        6 => refused,
        3 => faults().prop_map(SendAnswer::Unknown),
    ]
}

proptest! {
    /// Each decision is bound to the answers that may lead to it, whatever the code and the fee that came along.
    #[test]
    fn every_answer_has_a_decision_that_fits_it(answer in answers()) {
        let has_it = matches!(answer, SendAnswer::Pending | SendAnswer::Duplicate);
        let refusal = match &answer {
            SendAnswer::Refused(refusal) => Some(*refusal),
            SendAnswer::Pending | SendAnswer::Duplicate | SendAnswer::TryAgainLater | SendAnswer::Unknown(_) => None,
        };
        match after_send(&answer) {
            SendDecision::Acknowledged => prop_assert!(has_it),
            SendDecision::Resend(_, cause) => {
                prop_assert!(!has_it);
                prop_assert_eq!(cause.class, Class::Transient);
            }
            SendDecision::RaiseFee { required } => {
                let failure = Failure::Tx(TxCode::InsufficientFee);
                prop_assert_eq!(refusal, Some(Refusal { failure, fee_charged: required }));
            }
            SendDecision::Stop(cause) => {
                let failure = refusal.map(|refusal| refusal.failure);
                prop_assert_eq!(failure.map(failure_cause), Some(cause), "a refusal, for its own reason");
            }
        }
    }
}
