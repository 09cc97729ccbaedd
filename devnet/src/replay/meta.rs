//! Transaction meta up to what the real network leaves to chance.

use super::Difference;
use crate::xdr::to_bytes;
use serde_json::Value;
use stellar_xdr::{
    LedgerEntryChange, Limits, OperationMetaV2, ReadXdr, TransactionMeta, TransactionMetaV4,
    WriteXdr,
};

/// Compares two metas, given in base64: equal but for the order in which one operation's entries are listed.
pub fn compare(expected: &Value, actual: &Value) -> Result<(), Difference> {
    let field = "result_meta_xdr";
    let (expected, actual) = (decode(expected)?, decode(actual)?);
    same(
        &format!("{field}.tx_changes_before"),
        &expected.tx_changes_before,
        &actual.tx_changes_before,
    )?;
    let counts = (expected.operations.len(), actual.operations.len());
    if counts.0 != counts.1 {
        return Err(Difference::new(
            &format!("{field}.operations"),
            counts.0,
            counts.1,
        ));
    }
    for (index, (e, a)) in expected
        .operations
        .iter()
        .zip(actual.operations.iter())
        .enumerate()
    {
        let field = format!("{field}.operations[{index}]");
        same_changes(&format!("{field}.changes"), e, a)?;
        same(&format!("{field}.events"), &e.events, &a.events)?;
        same(&format!("{field}.ext"), &e.ext, &a.ext)?;
    }
    same(
        &format!("{field}.tx_changes_after"),
        &expected.tx_changes_after,
        &actual.tx_changes_after,
    )?;
    same(
        &format!("{field}.soroban_meta"),
        &expected.soroban_meta,
        &actual.soroban_meta,
    )?;
    same(&format!("{field}.events"), &expected.events, &actual.events)?;
    same(
        &format!("{field}.diagnostic_events"),
        &expected.diagnostic_events,
        &actual.diagnostic_events,
    )?;
    same(&format!("{field}.ext"), &expected.ext, &actual.ext)
}

fn decode(meta: &Value) -> Result<TransactionMetaV4, Difference> {
    let text = meta.as_str().unwrap_or_default();
    match TransactionMeta::from_xdr_base64(text, Limits::depth(500)) {
        Ok(TransactionMeta::V4(meta)) => Ok(meta),
        Ok(other) => Err(Difference::new("result_meta_xdr", other.name(), "V4")),
        Err(error) => Err(Difference::new("result_meta_xdr", "XDR", error)),
    }
}

fn same<T: PartialEq + WriteXdr>(field: &str, expected: &T, actual: &T) -> Result<(), Difference> {
    if expected == actual {
        return Ok(());
    }
    Err(Difference::new(field, base64(expected), base64(actual)))
}

fn base64<T: WriteXdr>(value: &T) -> String {
    value
        .to_xdr_base64(Limits::none())
        .unwrap_or_else(|error| error.to_string())
}

fn same_changes(
    field: &str,
    expected: &OperationMetaV2,
    actual: &OperationMetaV2,
) -> Result<(), Difference> {
    if grouped(&expected.changes.0) == grouped(&actual.changes.0) {
        return Ok(());
    }
    Err(Difference::new(
        field,
        base64(&expected.changes),
        base64(&actual.changes),
    ))
}

/// The changes by entry, a state with what follows it, in an order that depends on nothing but themselves.
fn grouped(changes: &[LedgerEntryChange]) -> Vec<Vec<u8>> {
    let mut groups: Vec<Vec<u8>> = Vec::new();
    let mut follows_state = false;
    for change in changes {
        let bytes = to_bytes(change);
        match groups.last_mut() {
            Some(group) if follows_state => group.extend(bytes),
            _ => groups.push(bytes),
        }
        follows_state = !follows_state && matches!(change, LedgerEntryChange::State(_));
    }
    groups.sort();
    groups
}
