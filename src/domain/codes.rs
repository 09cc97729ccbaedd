//! Result codes of the network, as far as rules depend on them. Numbers and names are those of Stellar's XDR.

use std::fmt;

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $number:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The code of that XDR number, or `None` for one this version does not know.
            #[must_use]
            pub fn from_number(number: i32) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.number() == number)
            }

            /// The XDR number.
            #[must_use]
            pub fn number(self) -> i32 {
                match self { $(Self::$variant => $number,)* }
            }

            /// The XDR name.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

codes! {
    /// Why a whole transaction failed (`TransactionResultCode`); a fee-bump's inner code stands in place of
    /// `txFEE_BUMP_INNER_FAILED`.
    TxCode {
        /// An operation failed.
        Failed = -1, "txFAILED";
        /// Before its lower bound.
        TooEarly = -2, "txTOO_EARLY";
        /// After its upper bound, or too close to it.
        TooLate = -3, "txTOO_LATE";
        /// No operation.
        MissingOperation = -4, "txMISSING_OPERATION";
        /// The sequence is not the account's next one.
        BadSeq = -5, "txBAD_SEQ";
        /// Too few valid signatures.
        BadAuth = -6, "txBAD_AUTH";
        /// The fee source cannot pay.
        InsufficientBalance = -7, "txINSUFFICIENT_BALANCE";
        /// The source account does not exist.
        NoAccount = -8, "txNO_ACCOUNT";
        /// The bid is too low.
        InsufficientFee = -9, "txINSUFFICIENT_FEE";
        /// A signature too many.
        BadAuthExtra = -10, "txBAD_AUTH_EXTRA";
        /// An error within the network.
        InternalError = -11, "txINTERNAL_ERROR";
        /// Not supported.
        NotSupported = -12, "txNOT_SUPPORTED";
        /// A sponsorship was not closed.
        BadSponsorship = -14, "txBAD_SPONSORSHIP";
        /// The minimum sequence age or gap is not met.
        BadMinSeqAgeOrGap = -15, "txBAD_MIN_SEQ_AGE_OR_GAP";
        /// Malformed.
        Malformed = -16, "txMALFORMED";
        /// Contract call with insufficient or invalid resources.
        SorobanInvalid = -17, "txSOROBAN_INVALID";
        /// Touches a ledger entry that validators froze.
        FrozenKeyAccessed = -18, "txFROZEN_KEY_ACCESSED";
    }
}

codes! {
    /// Why an operation of any kind could not run (`OperationResultCode`).
    OpCode {
        /// Too few valid signatures for its source.
        BadAuth = -1, "opBAD_AUTH";
        /// Its source account does not exist.
        NoAccount = -2, "opNO_ACCOUNT";
        /// Not supported.
        NotSupported = -3, "opNOT_SUPPORTED";
        /// The account has too many entries.
        TooManySubentries = -4, "opTOO_MANY_SUBENTRIES";
        /// Too much work.
        ExceededWorkLimit = -5, "opEXCEEDED_WORK_LIMIT";
        /// The account sponsors too much.
        TooManySponsoring = -6, "opTOO_MANY_SPONSORING";
    }
}

codes! {
    /// Why a payment failed (`PaymentResultCode`).
    PaymentCode {
        /// Amount or asset is invalid.
        Malformed = -1, "PAYMENT_MALFORMED";
        /// The treasury has too little.
        Underfunded = -2, "PAYMENT_UNDERFUNDED";
        /// The treasury has no trustline.
        SrcNoTrust = -3, "PAYMENT_SRC_NO_TRUST";
        /// The treasury's trustline is not authorized.
        SrcNotAuthorized = -4, "PAYMENT_SRC_NOT_AUTHORIZED";
        /// The payee's account does not exist.
        NoDestination = -5, "PAYMENT_NO_DESTINATION";
        /// The payee has no trustline.
        NoTrust = -6, "PAYMENT_NO_TRUST";
        /// The payee's trustline is not authorized.
        NotAuthorized = -7, "PAYMENT_NOT_AUTHORIZED";
        /// The payee's limit is reached.
        LineFull = -8, "PAYMENT_LINE_FULL";
        /// The asset has no issuer.
        NoIssuer = -9, "PAYMENT_NO_ISSUER";
    }
}

codes! {
    /// Why an account was not created (`CreateAccountResultCode`).
    CreateAccountCode {
        /// Amount or destination is invalid.
        Malformed = -1, "CREATE_ACCOUNT_MALFORMED";
        /// The treasury has too little.
        Underfunded = -2, "CREATE_ACCOUNT_UNDERFUNDED";
        /// The starting balance is below the minimum.
        LowReserve = -3, "CREATE_ACCOUNT_LOW_RESERVE";
        /// The account exists.
        AlreadyExist = -4, "CREATE_ACCOUNT_ALREADY_EXIST";
    }
}

/// Why the operation of an envelope of ours failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpFailure {
    /// It could not run.
    Any(OpCode),
    /// It was a payment.
    Payment(PaymentCode),
    /// It was to create an account.
    CreateAccount(CreateAccountCode),
}

impl fmt::Display for OpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any(code) => code.fmt(f),
            Self::Payment(code) => code.fmt(f),
            Self::CreateAccount(code) => code.fmt(f),
        }
    }
}

/// A failed result: what the transaction says and, for `txFAILED`, what its operation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The transaction as a whole.
    Tx(TxCode),
    /// Its operation.
    Op(OpFailure),
    /// A number that this version does not know, of the transaction or of its operation.
    Unrecognized(i32),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tx(code) => code.fmt(f),
            Self::Op(code) => write!(f, "txFAILED/{code}"),
            Self::Unrecognized(number) => write!(f, "unrecognized code {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codes_are_inverse() {
        for code in TxCode::ALL {
            assert_eq!(TxCode::from_number(code.number()), Some(*code));
        }
        for code in PaymentCode::ALL {
            assert_eq!(PaymentCode::from_number(code.number()), Some(*code));
        }
        for code in OpCode::ALL {
            assert_eq!(OpCode::from_number(code.number()), Some(*code));
        }
        for code in CreateAccountCode::ALL {
            assert_eq!(CreateAccountCode::from_number(code.number()), Some(*code));
        }
        assert_eq!(
            TxCode::from_number(-13),
            None,
            "a fee-bump is unwrapped first"
        );
        assert_eq!(TxCode::from_number(-99), None);
    }
}
