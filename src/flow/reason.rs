//! Why staff change something: asked for with every change, and kept with it.

use std::str::FromStr;

use serde_json::Value;

use super::fields::{BadPayload, Faults, Object};

/// Longest reason, in characters.
const MAX_CHARS: usize = 500;

/// A reason that staff gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(String);

/// A text is no reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must say why in 1 to {MAX_CHARS} characters, none of them a control character")]
pub struct BadReason;

impl FromStr for Reason {
    type Err = BadReason;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let length = text.chars().count();
        if length == 0 || length > MAX_CHARS || text.chars().any(char::is_control) {
            return Err(BadReason);
        }
        Ok(Self(text.to_owned()))
    }
}

impl Reason {
    /// Reads a request that gives a reason and nothing else.
    ///
    /// # Errors
    /// [`BadPayload`] with every fault found.
    pub fn read(body: &Value) -> Result<Self, BadPayload> {
        let mut faults = Faults::default();
        let reason = Object::open(body, "", &mut faults).and_then(|mut object| {
            let reason = object.parsed("reason", &mut faults);
            object.close(&mut faults);
            reason
        });
        faults.or(reason)
    }

    /// The reason as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reason_is_needed_and_nothing_else() {
        let good = Reason::read(&json!({"reason": " funded again "}));
        assert_eq!(good, Ok(Reason("funded again".to_owned())));
        for bad in [
            json!({}),
            json!({"reason": ""}),
            json!({"reason": "  "}),
            json!({"reason": 1}),
            json!({"reason": null}),
            json!({"reason": "x".repeat(501)}),
            json!({"reason": "a\u{0}"}),
            json!({"reason": "x", "force": true}),
            json!([]),
        ] {
            assert!(Reason::read(&bad).is_err(), "{bad}");
        }
    }
}
