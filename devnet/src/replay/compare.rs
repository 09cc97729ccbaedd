//! Comparing what a trace has with what the network answers.

use super::{Difference, codes, meta};
use serde_json::{Map, Value};

/// Compares the named fields of two objects; one that is missing counts as null.
pub fn fields(
    expected: &Value,
    actual: &Map<String, Value>,
    names: &[&str],
) -> Result<(), Difference> {
    for name in names {
        let actual = actual.get(*name).unwrap_or(&Value::Null);
        field(name, &expected[*name], actual)?;
    }
    Ok(())
}

fn field(name: &str, expected: &Value, actual: &Value) -> Result<(), Difference> {
    let equal = match (name, expected.as_str(), actual.as_str()) {
        ("code" | "error_code", Some(expected), Some(actual)) => codes::expand(expected) == actual,
        ("result_meta_xdr", Some(_), Some(_)) => return meta::compare(expected, actual),
        _ => expected == actual,
    };
    if equal {
        Ok(())
    } else {
        Err(Difference::new(name, expected, actual))
    }
}

/// Compares what a ledger contains, in whatever order.
pub fn applied(expected: &Value, actual: &[Value]) -> Result<(), Difference> {
    let Some(expected) = expected.as_array() else {
        return Err(Difference::new("applied", "a list", expected));
    };
    let by_hash = |list: &[Value]| {
        let mut list = list.to_vec();
        list.sort_by_key(|tx| tx["hash"].as_str().map(str::to_owned));
        list
    };
    let (expected, actual) = (by_hash(expected), by_hash(actual));
    let hashes = |list: &[Value]| list.iter().map(|tx| tx["hash"].clone()).collect::<Value>();
    if hashes(&expected) != hashes(&actual) {
        return Err(Difference::new(
            "applied",
            hashes(&expected),
            hashes(&actual),
        ));
    }
    for (expected, actual) in expected.iter().zip(&actual) {
        for name in ["code", "fee_charged"] {
            field(name, &expected[name], &actual[name]).map_err(|difference| Difference {
                field: format!("applied[{}].{name}", expected["hash"]),
                ..difference
            })?;
        }
    }
    Ok(())
}
