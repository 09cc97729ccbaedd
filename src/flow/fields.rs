//! Reads JSON objects field by field and collects every fault with its place, instead of stopping at the first.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

/// Faults reported of one request at most.
const MAX_FAULTS: usize = 50;

/// One thing wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where: a JSON pointer (RFC 6901).
    pub pointer: String,
    /// What.
    pub detail: String,
}

/// A payload that does not describe an operation; every fault of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadPayload(pub Vec<Fault>);

impl fmt::Display for BadPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bad payload")?;
        for fault in &self.0 {
            write!(f, "; {}: {}", fault.pointer, fault.detail)?;
        }
        Ok(())
    }
}

/// The faults found so far.
#[derive(Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    pub(crate) fn add(&mut self, pointer: String, detail: impl Into<String>) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(Fault {
                pointer,
                detail: detail.into(),
            });
        }
    }

    /// The value, if nothing was found wrong.
    pub(crate) fn or<T>(self, value: Option<T>) -> Result<T, BadPayload> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            Some(_) | None => Err(BadPayload(self.0)),
        }
    }
}

/// Appends a member's name to a pointer, escaped.
pub(crate) fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// A JSON object being read. Absent and `null` mean the same.
pub(crate) struct Object<'a> {
    pointer: String,
    fields: &'a Map<String, Value>,
    known: Vec<&'static str>,
}

impl<'a> Object<'a> {
    pub(crate) fn open(value: &'a Value, pointer: &str, faults: &mut Faults) -> Option<Self> {
        let Value::Object(fields) = value else {
            faults.add(pointer.to_owned(), "must be a JSON object");
            return None;
        };
        Some(Self {
            pointer: pointer.to_owned(),
            fields,
            known: Vec::new(),
        })
    }

    /// Where the member is.
    pub(crate) fn at(&self, name: &str) -> String {
        below(&self.pointer, name)
    }

    pub(crate) fn optional(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn required(
        &mut self,
        name: &'static str,
        faults: &mut Faults,
    ) -> Option<&'a Value> {
        let value = self.optional(name);
        if value.is_none() {
            faults.add(self.at(name), "is required");
        }
        value
    }

    pub(crate) fn text(&mut self, name: &'static str, faults: &mut Faults) -> Option<&'a str> {
        let value = self.required(name, faults)?;
        self.as_text(name, value, faults)
    }

    pub(crate) fn optional_text(
        &mut self,
        name: &'static str,
        faults: &mut Faults,
    ) -> Option<&'a str> {
        let value = self.optional(name)?;
        self.as_text(name, value, faults)
    }

    fn as_text(&self, name: &str, value: &'a Value, faults: &mut Faults) -> Option<&'a str> {
        let text = value.as_str();
        if text.is_none() {
            faults.add(self.at(name), "must be a string");
        }
        text
    }

    /// A required text that parses.
    pub(crate) fn parsed<T>(&mut self, name: &'static str, faults: &mut Faults) -> Option<T>
    where
        T: FromStr,
        T::Err: fmt::Display,
    {
        match self.text(name, faults)?.parse() {
            Ok(value) => Some(value),
            Err(fault) => {
                faults.add(self.at(name), fault.to_string());
                None
            }
        }
    }

    /// A member that must not be there, not even as `null`.
    pub(crate) fn refuse(&mut self, name: &'static str, detail: &str, faults: &mut Faults) {
        self.known.push(name);
        if self.fields.contains_key(name) {
            faults.add(self.at(name), detail);
        }
    }

    /// Every member that nobody asked for is a fault.
    pub(crate) fn close(self, faults: &mut Faults) {
        for name in self.fields.keys() {
            if !self.known.contains(&name.as_str()) {
                faults.add(self.at(name), "is not a known field");
            }
        }
    }
}
