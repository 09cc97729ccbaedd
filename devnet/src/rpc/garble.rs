//! Answers that are broken on purpose.

use crate::faults::Malformed;
use serde_json::{Value, json};

/// How the body of a reply is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Garble {
    /// It cannot be read.
    Malformed(Malformed),
    /// It is right, with that many bytes of nothing.
    Padded(u32),
}

impl Garble {
    /// The text to send in place of this answer.
    pub fn text(self, answer: &Value) -> String {
        match self {
            Self::Malformed(Malformed::Html) => {
                "<html><head><title>Welcome</title></head><body>It works!</body></html>".to_owned()
            }
            Self::Malformed(Malformed::Truncated) => {
                let text = answer.to_string();
                text.chars().take(text.chars().count() / 2).collect()
            }
            Self::Malformed(Malformed::WrongShape) => json!({
                "jsonrpc": "2.0",
                "id": answer.get("id").cloned().unwrap_or_default(),
                "result": "ok",
            })
            .to_string(),
            Self::Malformed(Malformed::Empty) => String::new(),
            Self::Padded(bytes) => {
                let text = answer.to_string();
                let blanks = (bytes as usize).saturating_sub(text.len());
                format!("{text}{}", " ".repeat(blanks))
            }
        }
    }
}

/// The answer with another hash: its last digit changed.
pub(super) fn wrong_hash(mut answer: Value) -> Value {
    for field in ["hash", "txHash"] {
        if let Some(Value::String(hash)) = answer.get_mut(field)
            && let Some(last) = hash.pop()
        {
            hash.push(if last == '0' { '1' } else { '0' });
        }
    }
    answer
}
