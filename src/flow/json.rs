//! A strict JSON reader: UTF-8, no member twice, nested a few levels only, nothing after the value.
//!
//! Two readers of a body with a member twice may see different payments, so such a body is refused.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Levels of objects and arrays within each other.
const MAX_DEPTH: usize = 16;

/// Reads one JSON value.
///
/// # Errors
/// What is wrong, in words for the caller.
pub fn read(bytes: &[u8]) -> Result<Value, String> {
    if bytes.is_empty() {
        return Err("the body is empty".to_owned());
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let strict = Strict { depth: 0 };
    let value = strict
        .deserialize(&mut deserializer)
        .map_err(|fault| fault.to_string())?;
    deserializer.end().map_err(|fault| fault.to_string())?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!(
                "nested deeper than {MAX_DEPTH} levels"
            )));
        }
        Ok(Self {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(deeper)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut fields = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(deeper)?;
            if fields.insert(name, value).is_some() {
                return Err(de::Error::custom("a member appears twice in one object"));
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_json_reads_as_it_always_does() {
        for text in [
            "null",
            "-1",
            "18446744073709551615",
            "1.5",
            r#""\u0041é""#,
            r#"{"a":[1,{"b":null}],"c":true}"#,
        ] {
            assert_eq!(
                read(text.as_bytes()).ok(),
                serde_json::from_str(text).ok(),
                "{text}"
            );
        }
    }

    #[test]
    fn doubtful_json_is_refused() {
        let deep = format!("{}{}", "[".repeat(17), "]".repeat(17));
        let deeper = "[".repeat(100_000);
        let cases: [&[u8]; 12] = [
            b"",
            b"{",
            b"nul",
            b"{} {}",
            b"{'a':1}",
            b"{\"a\":1,}",
            b"1e999",
            b"\"\xff\"",
            b"\"a\x00b\"",
            br#"{"a":1,"\u0061":2}"#,
            deep.as_bytes(),
            deeper.as_bytes(),
        ];
        for case in cases {
            assert!(
                read(case).is_err(),
                "{:?}",
                String::from_utf8_lossy(&case[..case.len().min(40)])
            );
        }
        assert!(read(format!("{}{}", "[".repeat(16), "]".repeat(16)).as_bytes()).is_ok());
    }
}
