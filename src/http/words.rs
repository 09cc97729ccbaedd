//! The domain's words as the API spells them.

use poem_openapi::Enum;

use crate::domain::operation::OperationKind;
use crate::domain::schedule::Priority;
use crate::domain::submission::{Category, Status, Verdict};

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident ($title:literal) of $domain:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)+ })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
        #[oai(rename = $title)]
        pub enum $name { $($(#[$word_doc])* #[oai(rename = $text)] $word,)+ }

        impl From<$domain> for $name {
            fn from(word: $domain) -> Self {
                match word { $($domain::$word => Self::$word,)+ }
            }
        }

        impl From<$name> for $domain {
            fn from(word: $name) -> Self {
                match word { $($name::$word => Self::$word,)+ }
            }
        }
    )* };
}

words! {
    /// Where a transaction stands.
    StatusWord ("Status") of Status {
        /// Waits for its turn.
        Pending = "pending",
        /// A worker prepares it.
        Building = "building",
        /// The network may have it.
        Submitted = "submitted",
        /// The network has it.
        Confirming = "confirming",
        /// In a ledger, with the expected effect. Terminal.
        Confirmed = "confirmed",
        /// Without effect, unless the category is `effect_missing`. Terminal.
        Failed = "failed",
        /// Withdrawn before it could take effect. Terminal.
        Cancelled = "cancelled",
        /// Checked without sending. Terminal.
        Simulated = "simulated",
    }
    /// What is known of the effect on the chain.
    VerdictWord ("Verdict") of Verdict {
        /// Nothing was decided yet.
        Pending = "PENDING",
        /// It succeeded in a ledger.
        Success = "SUCCESS",
        /// It is in a ledger, failed.
        Failed = "FAILED",
        /// It was not applied and never can be.
        Expired = "EXPIRED",
        /// Withdrawn before it could take effect.
        Cancelled = "CANCELLED",
        /// Unknown; staff decide.
        Indeterminate = "INDETERMINATE",
    }
    /// Why a transaction failed.
    CategoryWord ("Category") of Category {
        /// It could have worked, but the retries are used up.
        TransientExhausted = "transient_exhausted",
        /// Trying again changes nothing.
        Terminal = "terminal",
        /// It succeeded without the expected event: money may have moved.
        EffectMissing = "effect_missing",
    }
    /// How urgent a transaction is.
    PriorityWord ("Priority") of Priority {
        /// Capital that must leave now.
        Critical = "CRITICAL",
        /// Everyday payments.
        Normal = "NORMAL",
        /// Work that can wait.
        Low = "LOW",
    }
    /// Kind of the operation.
    KindWord ("Kind") of OperationKind {
        /// Moves an amount to an existing account.
        Payment = "payment",
        /// Creates an account.
        CreateAccount = "create_account",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poem_openapi::types::ToJSON;
    use serde_json::json;

    #[test]
    fn words_are_spelled_as_in_the_domain() {
        for word in Status::ALL {
            assert_eq!(StatusWord::from(word).to_json(), Some(json!(word.as_str())));
        }
        for word in Verdict::ALL {
            assert_eq!(
                VerdictWord::from(word).to_json(),
                Some(json!(word.as_str()))
            );
        }
        for word in Category::ALL {
            assert_eq!(
                CategoryWord::from(word).to_json(),
                Some(json!(word.as_str()))
            );
        }
        for word in Priority::ALL {
            assert_eq!(
                PriorityWord::from(word).to_json(),
                Some(json!(word.as_str()))
            );
        }
        for word in OperationKind::ALL {
            assert_eq!(KindWord::from(word).to_json(), Some(json!(word.as_str())));
        }
    }
}
