//! The retry classifier: what an answer of the network means for the next step.
//!
//! No answer to a send proves that an envelope was not, or will not be, applied. So nothing here fails a submission:
//! a terminal cause only stops the sending, and the reconciler waits for proof.

use super::codes::{CreateAccountCode, Failure, OpCode, OpFailure, PaymentCode, TxCode};

/// Whether another try can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// It can.
    Transient,
    /// It cannot, until somebody changes something.
    Terminal,
}

impl Class {
    /// The name in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Terminal => "terminal",
        }
    }
}

/// Why an attempt came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Whether another try can help.
    pub class: Class,
    /// The code shown to staff, such as `txFAILED/PAYMENT_NO_TRUST`.
    pub code: String,
}

impl Cause {
    /// The validity window passed and nothing else is known.
    #[must_use]
    pub fn expired() -> Self {
        Self {
            class: Class::Transient,
            code: "expired".to_owned(),
        }
    }
}

/// Who has to act on a failure besides the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alarm {
    /// Nobody.
    None,
    /// The treasury, the fee source or their trustlines need care.
    Treasury,
    /// Keys, signers or the service itself are wrong.
    Operator,
}

/// What a send answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendAnswer {
    /// In the node's queue.
    Pending,
    /// Already in the node's queue.
    Duplicate,
    /// Refused without a reason: banned bytes (perhaps because they were applied), or another envelope in the way.
    TryAgainLater,
    /// Refused with a result.
    Refused(Refusal),
    /// No answer that means anything.
    Unknown(Fault),
}

/// A refusal: the code, unwrapped from a fee-bump, and the fee it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub failure: Failure,
    /// `feeCharged`, in stroops; with `txINSUFFICIENT_FEE` the full fee that would have been enough.
    pub fee_charged: i64,
}

/// Ways in which a call gives no answer. None of them says whether the network has the envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// No connection was made.
    Connect,
    /// The connection ended early.
    Reset,
    /// Nothing came in time.
    Timeout,
    /// An HTTP status other than 200.
    Http(u16),
    /// A JSON-RPC error.
    Rpc(i32),
    /// A status this version does not know.
    UnknownStatus,
    /// An answer that cannot be read, is too large, or names another transaction.
    Malformed,
}

impl Fault {
    /// The code shown to staff.
    #[must_use]
    pub fn code(self) -> String {
        match self {
            Self::Connect => "connect".to_owned(),
            Self::Reset => "connection_reset".to_owned(),
            Self::Timeout => "timeout".to_owned(),
            Self::Http(status) => format!("http_{status}"),
            Self::Rpc(code) => format!("rpc_{code}"),
            Self::UnknownStatus => "unknown_status".to_owned(),
            Self::Malformed => "malformed_answer".to_owned(),
        }
    }
}

/// What to do after a send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendDecision {
    /// A node has it: wait for a ledger.
    Acknowledged,
    /// Nothing is known: look at the account, and send the same bytes again.
    Resend(ResendAfter, Cause),
    /// The bid is too low: wrap the same inner transaction in a fee-bump of at least `required` stroops in all.
    RaiseFee {
        /// Full fee that would have been enough, in stroops.
        required: i64,
    },
    /// Sending again changes nothing: wait for proof.
    Stop(Cause),
}

/// When the same bytes may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResendAfter {
    /// As soon as the back-off allows.
    Soon,
    /// When a ban, if there is one, has passed: bans last 10 ledgers.
    Ban,
}

/// Decides what to do after a send.
#[must_use]
pub fn after_send(answer: &SendAnswer) -> SendDecision {
    let transient = |code: String| Cause {
        class: Class::Transient,
        code,
    };
    match answer {
        SendAnswer::Pending | SendAnswer::Duplicate => SendDecision::Acknowledged,
        SendAnswer::TryAgainLater => {
            SendDecision::Resend(ResendAfter::Ban, transient("TRY_AGAIN_LATER".to_owned()))
        }
        SendAnswer::Unknown(fault) => {
            SendDecision::Resend(ResendAfter::Soon, transient(fault.code()))
        }
        SendAnswer::Refused(Refusal {
            failure: Failure::Tx(TxCode::InsufficientFee),
            fee_charged,
        }) => SendDecision::RaiseFee {
            required: *fee_charged,
        },
        SendAnswer::Refused(Refusal {
            failure: Failure::Tx(TxCode::TooLate),
            ..
        }) => SendDecision::Stop(transient(TxCode::TooLate.to_string())),
        SendAnswer::Refused(refusal) => {
            let cause = failure_cause(refusal.failure);
            match cause.class {
                Class::Transient => SendDecision::Resend(ResendAfter::Soon, cause),
                Class::Terminal => SendDecision::Stop(cause),
            }
        }
    }
}

/// The cause behind a failed result, in a ledger or in a refusal.
#[must_use]
pub fn failure_cause(failure: Failure) -> Cause {
    Cause {
        class: class_of(failure),
        code: failure.to_string(),
    }
}

fn class_of(failure: Failure) -> Class {
    match failure {
        Failure::Tx(code) => class_of_tx(code),
        Failure::Op(OpFailure::Any(code)) => class_of_op(code),
        // Whatever stops a payment or an account's creation needs somebody to act: payee, issuer or treasury.
        // And what a code of a newer protocol means, people decide: the machine does not repeat what it cannot read.
        Failure::Op(OpFailure::Payment(_) | OpFailure::CreateAccount(_))
        | Failure::Unrecognized(_) => Class::Terminal,
    }
}

fn class_of_tx(code: TxCode) -> Class {
    match code {
        TxCode::TooEarly
        | TxCode::TooLate
        | TxCode::BadSeq
        | TxCode::InsufficientBalance
        | TxCode::NoAccount
        | TxCode::InsufficientFee
        | TxCode::InternalError
        | TxCode::BadMinSeqAgeOrGap => Class::Transient,
        TxCode::Failed
        | TxCode::MissingOperation
        | TxCode::BadAuth
        | TxCode::BadAuthExtra
        | TxCode::NotSupported
        | TxCode::BadSponsorship
        | TxCode::Malformed
        | TxCode::SorobanInvalid
        | TxCode::FrozenKeyAccessed => Class::Terminal,
    }
}

fn class_of_op(code: OpCode) -> Class {
    match code {
        OpCode::ExceededWorkLimit => Class::Transient,
        OpCode::BadAuth
        | OpCode::NoAccount
        | OpCode::NotSupported
        | OpCode::TooManySubentries
        | OpCode::TooManySponsoring => Class::Terminal,
    }
}

/// Who has to act on a failure.
#[must_use]
pub fn alarm(failure: Failure) -> Alarm {
    match failure {
        Failure::Op(OpFailure::Payment(code)) => match code {
            PaymentCode::Underfunded | PaymentCode::SrcNoTrust | PaymentCode::SrcNotAuthorized => {
                Alarm::Treasury
            }
            PaymentCode::Malformed => Alarm::Operator,
            PaymentCode::NoDestination
            | PaymentCode::NoTrust
            | PaymentCode::NotAuthorized
            | PaymentCode::LineFull
            | PaymentCode::NoIssuer => Alarm::None,
        },
        Failure::Op(OpFailure::CreateAccount(code)) => match code {
            CreateAccountCode::Underfunded => Alarm::Treasury,
            CreateAccountCode::Malformed => Alarm::Operator,
            CreateAccountCode::LowReserve | CreateAccountCode::AlreadyExist => Alarm::None,
        },
        Failure::Op(OpFailure::Any(_)) | Failure::Unrecognized(_) => Alarm::Operator,
        Failure::Tx(code) => match code {
            TxCode::InsufficientBalance => Alarm::Treasury,
            TxCode::TooEarly | TxCode::TooLate | TxCode::BadSeq | TxCode::InsufficientFee => {
                Alarm::None
            }
            TxCode::Failed
            | TxCode::MissingOperation
            | TxCode::BadAuth
            | TxCode::NoAccount
            | TxCode::BadAuthExtra
            | TxCode::InternalError
            | TxCode::NotSupported
            | TxCode::BadSponsorship
            | TxCode::BadMinSeqAgeOrGap
            | TxCode::Malformed
            | TxCode::SorobanInvalid
            | TxCode::FrozenKeyAccessed => Alarm::Operator,
        },
    }
}

#[cfg(test)]
#[path = "classify_tests.rs"]
pub(super) mod tests;
