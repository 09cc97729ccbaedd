//! The bodies that callers send, as they are documented. They are checked in [`accept`](crate::flow::accept), which
//! finds every fault at once; a test keeps both in step.

use poem_openapi::{Enum, Object, Union};

use super::words::PriorityWord;

/// A transaction to put on the network exactly once.
#[derive(Object)]
#[oai(deny_unknown_fields)]
pub struct NewTransaction {
    /// How urgent it is; `NORMAL` if absent.
    priority: Option<PriorityWord>,
    /// Your own reference, shown with the transaction.
    #[oai(validator(min_length = 1, max_length = 128))]
    business_ref: Option<String>,
    /// Derives the idempotency key, in place of the header `Idempotency-Key`.
    key_parts: Option<KeyParts>,
    /// What to do.
    operation: NewOperation,
}

/// What an idempotency key is derived from: the same parts give the same key.
#[derive(Object)]
#[oai(deny_unknown_fields)]
pub struct KeyParts {
    /// Such as `rent`.
    #[oai(validator(min_length = 1, max_length = 255))]
    logical_operation: String,
    /// Such as the number of a lease.
    #[oai(validator(min_length = 1, max_length = 255))]
    business_id: String,
    /// Period or leg, such as `2026-01`.
    #[oai(validator(min_length = 1, max_length = 255))]
    period: String,
}

/// What to do.
#[derive(Union)]
#[oai(discriminator_name = "type", one_of)]
pub enum NewOperation {
    /// Moves an amount to an existing account.
    #[oai(mapping = "payment")]
    Payment(NewPayment),
    /// Creates an account.
    #[oai(mapping = "create_account")]
    CreateAccount(NewAccount),
}

/// Moves an amount of an asset from the treasury to an existing account.
#[derive(Object)]
pub struct NewPayment {
    /// A `G...` or `M...` address.
    destination: String,
    /// `native`, or `CODE:ISSUER`.
    asset: String,
    /// In decimal digits with at most 7 places, greater than zero.
    amount: String,
    /// Memo of the transaction.
    memo: Option<NewMemo>,
}

/// Creates an account and funds it with lumens from the treasury.
#[derive(Object)]
pub struct NewAccount {
    /// A `G...` address.
    destination: String,
    /// Lumens, in decimal digits with at most 7 places, greater than zero.
    starting_balance: String,
    /// Memo of the transaction.
    memo: Option<NewMemo>,
}

/// Memo of a transaction.
#[derive(Object)]
#[oai(deny_unknown_fields)]
pub struct NewMemo {
    /// What the value is.
    #[oai(rename = "type")]
    kind: MemoKind,
    /// Up to 28 bytes of text, a whole number below 2^64, or 64 hexadecimal digits.
    value: String,
}

/// What the value of a memo is.
#[derive(Enum)]
#[oai(rename_all = "snake_case")]
pub enum MemoKind {
    /// Up to 28 bytes.
    Text,
    /// A whole number below 2^64.
    Id,
    /// 64 hexadecimal digits.
    Hash,
    /// 64 hexadecimal digits: the hash of a payment that is being returned.
    Return,
}

/// Why staff change a transaction.
#[derive(Object)]
#[oai(deny_unknown_fields)]
pub struct StaffRequest {
    /// Kept with the transaction for ever.
    #[oai(validator(min_length = 1, max_length = 500))]
    reason: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use poem_openapi::registry::Registry;
    use poem_openapi::types::{ParseFromJSON, Type};
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::ids::AccountId;
    use crate::flow::accept::parse;

    /// Requests that use every documented field.
    fn full() -> [Value; 2] {
        let payee = AccountId([3; 32]).to_string();
        let memo = json!({"type": "text", "value": "x"});
        let parts = json!({"logical_operation": "rent", "business_id": "7", "period": "1"});
        let request = |operation: Value| json!({"priority": "LOW", "business_ref": "r", "key_parts": parts, "operation": operation});
        [
            request(
                json!({"type": "payment", "destination": payee, "asset": "native", "amount": "1", "memo": memo}),
            ),
            request(
                json!({"type": "create_account", "destination": payee, "starting_balance": "1", "memo": memo}),
            ),
        ]
    }

    fn documented(schema: &str) -> BTreeSet<String> {
        let mut registry = Registry::new();
        NewTransaction::register(&mut registry);
        let properties = &registry.schemas[schema].properties;
        properties
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect()
    }

    fn fields(value: &Value) -> BTreeSet<String> {
        let fields = value.as_object().expect("an object");
        fields
            .keys()
            .filter(|name| *name != "type")
            .cloned()
            .collect()
    }

    #[test]
    fn what_is_documented_is_what_is_accepted() {
        let [payment, account] = full();
        for request in [&payment, &account] {
            assert!(parse(request).is_ok(), "{:?}", parse(request));
            assert!(NewTransaction::parse_from_json(Some(request.clone())).is_ok());
        }
        assert_eq!(fields(&payment), documented("NewTransaction"));
        assert_eq!(fields(&payment["key_parts"]), documented("KeyParts"));
        assert_eq!(fields(&payment["operation"]), documented("NewPayment"));
        assert_eq!(fields(&account["operation"]), documented("NewAccount"));
    }

    #[test]
    fn what_is_documented_as_required_is_required() {
        for request in full() {
            let mut shorter = vec![without(&request, "", "operation")];
            for name in fields(&request["operation"]) {
                shorter.push(without(&request, "/operation", &name));
            }
            for name in fields(&request["key_parts"]) {
                shorter.push(without(&request, "/key_parts", &name));
            }
            for request in shorter {
                let documented = NewTransaction::parse_from_json(Some(request.clone())).is_ok();
                assert_eq!(parse(&request).is_ok(), documented, "{request}");
            }
        }
    }

    fn without(request: &Value, pointer: &str, name: &str) -> Value {
        let mut request = request.clone();
        let object = request.pointer_mut(pointer).and_then(Value::as_object_mut);
        object.expect("an object").remove(name);
        request
    }
}
