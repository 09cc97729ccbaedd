//! Canonical bytes of a JSON value, and where two values differ.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::flow::fields::below;

/// The value as bytes: members sorted by name, no blanks. Equal values give equal bytes, whatever a database or a
/// build made of the order of their members.
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut text = String::new();
    write(value, &mut text);
    text.into_bytes()
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let names: BTreeSet<&String> = fields.keys().collect();
            out.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(&fields[name], out);
            }
            out.push('}');
        }
    }
}

/// The JSON pointers at which two values differ, sorted. Never the values: whoever holds a key that another one used
/// must not learn what was paid.
#[must_use]
pub fn differences(stored: &Value, sent: &Value) -> Vec<String> {
    let mut pointers = Vec::new();
    compare(stored, sent, "", &mut pointers);
    pointers
}

fn compare(stored: &Value, sent: &Value, pointer: &str, pointers: &mut Vec<String>) {
    let (Value::Object(left), Value::Object(right)) = (stored, sent) else {
        if stored != sent {
            pointers.push(pointer.to_owned());
        }
        return;
    };
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    for name in names {
        let pointer = below(pointer, name);
        match (left.get(name), right.get(name)) {
            (Some(left), Some(right)) => compare(left, right, &pointer, pointers),
            (None, _) | (_, None) => pointers.push(pointer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_bytes_do_not_depend_on_the_order_of_members() {
        let one: Value =
            serde_json::from_str(r#"{"b":1,"a":{"d":[1,{"y":0,"x":0}],"c":"\u00e9\""}}"#)
                .expect("JSON");
        let two: Value =
            serde_json::from_str(r#"{"a":{"c":"é\"","d":[1,{"x":0,"y":0}]},"b":1}"#).expect("JSON");
        assert_eq!(canonical(&one), canonical(&two));
        assert_eq!(
            String::from_utf8(canonical(&one)).expect("UTF-8"),
            r#"{"a":{"c":"é\"","d":[1,{"x":0,"y":0}]},"b":1}"#
        );
    }

    #[test]
    fn differences_are_pointers_to_the_deepest_members() {
        let stored = json!({"a": {"b": "1", "c": "2", "e/f~": 1}, "only_stored": 1});
        let sent = json!({"a": {"b": "1", "c": "3", "e/f~": 2}, "only_sent": 1});
        assert_eq!(
            differences(&stored, &sent),
            ["/a/c", "/a/e~1f~0", "/only_sent", "/only_stored"]
        );
        assert_eq!(differences(&stored, &stored), Vec::<String>::new());
        assert_eq!(
            differences(&json!({"a": {"b": 1}}), &json!({"a": 1})),
            ["/a"]
        );
    }
}
