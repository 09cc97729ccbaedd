//! Operations as JSON: read with all faults at once, written in normal form.

use serde_json::{Map, Value, json};

use crate::domain::operation::{CreateAccount, Memo, MemoText, Operation, OperationKind, Payment};

use crate::flow::fields::{BadPayload, Faults, Object};

/// The operation that a stored payload asks for.
///
/// # Errors
/// [`BadPayload`]: the payload was not written by [`accept`](super::accept).
pub fn operation_of(payload: &Value) -> Result<Operation, BadPayload> {
    let mut faults = Faults::default();
    let operation = payload
        .get("operation")
        .and_then(|operation| read(operation, "/operation", &mut faults));
    if payload.get("operation").is_none() {
        faults.add("/operation".to_owned(), "is required");
    }
    faults.or(operation)
}

pub(super) fn read(value: &Value, pointer: &str, faults: &mut Faults) -> Option<Operation> {
    let mut object = Object::open(value, pointer, faults)?;
    match object.text("type", faults)? {
        "payment" => payment(object, faults),
        "create_account" => create_account(object, faults),
        "invoke_contract" => {
            faults.add(
                object.at("type"),
                "`invoke_contract` is not supported by this version",
            );
            None
        }
        _ => {
            let names = OperationKind::ALL.map(|kind| format!("`{}`", kind.as_str()));
            faults.add(object.at("type"), format!("must be {}", names.join(" or ")));
            None
        }
    }
}

fn payment(mut object: Object<'_>, faults: &mut Faults) -> Option<Operation> {
    let destination = object.parsed("destination", faults);
    let asset = object.parsed("asset", faults);
    let amount = object.parsed("amount", faults);
    let memo = memo(&mut object, faults);
    object.close(faults);
    Some(Operation::Payment(Payment {
        destination: destination?,
        asset: asset?,
        amount: amount?,
        memo,
    }))
}

fn create_account(mut object: Object<'_>, faults: &mut Faults) -> Option<Operation> {
    let destination = object.parsed("destination", faults);
    let starting_balance = object.parsed("starting_balance", faults);
    let memo = memo(&mut object, faults);
    object.close(faults);
    Some(Operation::CreateAccount(CreateAccount {
        destination: destination?,
        starting_balance: starting_balance?,
        memo,
    }))
}

/// `None` for no memo, and for a faulty one: then the fault stands.
fn memo(object: &mut Object<'_>, faults: &mut Faults) -> Option<Memo> {
    let at = object.at("memo");
    let mut memo = Object::open(object.optional("memo")?, &at, faults)?;
    let kind = memo.text("type", faults);
    let text = memo.text("value", faults);
    let (at_type, at_value) = (memo.at("type"), memo.at("value"));
    memo.close(faults);
    let (kind, text) = (kind?, text?);
    let parsed = match kind {
        "text" => text_memo(text),
        "id" => id_memo(text),
        "hash" => hash_memo(text).map(Memo::Hash),
        "return" => hash_memo(text).map(Memo::Return),
        _ => {
            faults.add(at_type, "must be `text`, `id`, `hash` or `return`");
            return None;
        }
    };
    match parsed {
        Ok(memo) => Some(memo),
        Err(detail) => {
            faults.add(at_value, detail);
            None
        }
    }
}

fn text_memo(text: &str) -> Result<Memo, String> {
    if text.chars().any(char::is_control) {
        return Err("must not hold control characters".to_owned());
    }
    MemoText::new(text)
        .map(Memo::Text)
        .map_err(|fault| fault.to_string())
}

fn id_memo(text: &str) -> Result<Memo, String> {
    // `parse` alone would take a leading plus sign.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(id) if digits => Ok(Memo::Id(id)),
        Ok(_) | Err(_) => Err("must be a whole number from 0 to 18446744073709551615".to_owned()),
    }
}

fn hash_memo(text: &str) -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes)
        .map(|()| bytes)
        .map_err(|_| "must be 64 hexadecimal digits".to_owned())
}

/// The operation in normal form.
#[must_use]
pub fn operation_json(operation: &Operation) -> Value {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), json!(operation.kind().as_str()));
    match operation {
        Operation::Payment(payment) => {
            fields.insert(
                "destination".to_owned(),
                json!(payment.destination.to_string()),
            );
            fields.insert("asset".to_owned(), json!(payment.asset.to_string()));
            fields.insert("amount".to_owned(), json!(payment.amount.to_string()));
        }
        Operation::CreateAccount(create) => {
            let (destination, balance) = (create.destination, create.starting_balance);
            fields.insert("destination".to_owned(), json!(destination.to_string()));
            fields.insert("starting_balance".to_owned(), json!(balance.to_string()));
        }
    }
    if let Some(memo) = operation.memo() {
        fields.insert("memo".to_owned(), write_memo(memo));
    }
    Value::Object(fields)
}

fn write_memo(memo: &Memo) -> Value {
    match memo {
        Memo::Text(text) => json!({"type": "text", "value": text.as_str()}),
        Memo::Id(id) => json!({"type": "id", "value": id.to_string()}),
        Memo::Hash(hash) => json!({"type": "hash", "value": hex::encode(hash)}),
        Memo::Return(hash) => json!({"type": "return", "value": hex::encode(hash)}),
    }
}
