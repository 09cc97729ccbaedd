//! A request to move money, checked as a whole.

use serde_json::{Map, Value, json};

use crate::domain::key::IdempotencyKey;
use crate::domain::operation::Operation;
use crate::domain::schedule::Priority;

use super::operation;
use crate::flow::fields::{BadPayload, Faults, Object};

/// Longest business reference, in characters.
const MAX_BUSINESS_REF: usize = 128;

/// A request without a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// How urgent it is.
    pub priority: Priority,
    /// The caller's own reference.
    pub business_ref: Option<String>,
    /// The key that its `key_parts` give.
    pub derived_key: Option<IdempotencyKey>,
    /// What to do.
    pub operation: Operation,
}

impl Request {
    /// What is stored and compared: amounts with seven places, defaults filled in, absent fields left out. The key and
    /// its parts are no part of it.
    #[must_use]
    pub fn normal_form(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("priority".to_owned(), json!(self.priority.as_str()));
        if let Some(reference) = &self.business_ref {
            fields.insert("business_ref".to_owned(), json!(reference));
        }
        fields.insert(
            "operation".to_owned(),
            operation::operation_json(&self.operation),
        );
        Value::Object(fields)
    }
}

/// Checks a request.
///
/// # Errors
/// [`BadPayload`] with every fault found.
pub fn parse(body: &Value) -> Result<Request, BadPayload> {
    let mut faults = Faults::default();
    let request = read(body, &mut faults);
    faults.or(request)
}

fn read(body: &Value, faults: &mut Faults) -> Option<Request> {
    let mut object = Object::open(body, "", faults)?;
    let priority = priority(&mut object, faults);
    let business_ref = business_ref(&mut object, faults);
    let derived_key = key_parts(&mut object, faults);
    let at = object.at("operation");
    let operation = object
        .required("operation", faults)
        .and_then(|value| operation::read(value, &at, faults));
    for later in ["holder", "ordering_key"] {
        object.refuse(later, "is not supported by this version", faults);
    }
    object.close(faults);
    Some(Request {
        priority: priority?,
        business_ref,
        derived_key,
        operation: operation?,
    })
}

fn priority(object: &mut Object<'_>, faults: &mut Faults) -> Option<Priority> {
    if object.optional("priority").is_none() {
        return Some(Priority::Normal);
    }
    let text = object.text("priority", faults)?;
    let priority = Priority::ALL
        .into_iter()
        .find(|known| known.as_str() == text);
    if priority.is_none() {
        faults.add(
            object.at("priority"),
            "must be `CRITICAL`, `NORMAL` or `LOW`",
        );
    }
    priority
}

fn business_ref(object: &mut Object<'_>, faults: &mut Faults) -> Option<String> {
    let text = object.optional_text("business_ref", faults)?;
    let length = text.chars().count();
    if length == 0 || length > MAX_BUSINESS_REF {
        let detail = format!("must have 1 to {MAX_BUSINESS_REF} characters");
        faults.add(object.at("business_ref"), detail);
    } else if text.chars().any(char::is_control) {
        faults.add(
            object.at("business_ref"),
            "must not hold control characters",
        );
    }
    Some(text.to_owned())
}

fn key_parts(object: &mut Object<'_>, faults: &mut Faults) -> Option<IdempotencyKey> {
    let at = object.at("key_parts");
    let mut parts = Object::open(object.optional("key_parts")?, &at, faults)?;
    let logical_operation = part(&mut parts, "logical_operation", faults);
    let business_id = part(&mut parts, "business_id", faults);
    let period = part(&mut parts, "period", faults);
    parts.close(faults);
    match IdempotencyKey::derive(logical_operation?, business_id?, period?) {
        Ok(key) => Some(key),
        Err(fault) => {
            faults.add(at, fault.to_string());
            None
        }
    }
}

fn part<'a>(parts: &mut Object<'a>, name: &'static str, faults: &mut Faults) -> Option<&'a str> {
    let text = parts.text(name, faults)?;
    if text.is_empty() || text.len() > IdempotencyKey::MAX_CHARS {
        let detail = format!("must have 1 to {} bytes", IdempotencyKey::MAX_CHARS);
        faults.add(parts.at(name), detail);
        return None;
    }
    Some(text)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
