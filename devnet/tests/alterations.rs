//! A replayer that overlooks something proves nothing: every compared field of a trace is altered, and each
//! alteration must be reported at its step.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed test may panic"
)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;
use stellar_xdr::{Limits, OperationBody, ReadXdr, TransactionEnvelope, WriteXdr};
use tender_devnet::replay::{Difference, compared_fields, replay};

/// Bits flipped in each XDR field, spread over its length.
const FLIPS: usize = 5;

fn trace(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/traces")
        .join(format!("{name}.jsonl"));
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn play(lines: &[Value]) -> Result<(), Difference> {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    replay(lines.join("\n").as_bytes()).map(|_| ())
}

fn flipped(text: &str) -> Vec<Value> {
    let bytes = STANDARD.decode(text).unwrap();
    let at = |flip: usize| (flip * bytes.len() / FLIPS).min(bytes.len() - 1);
    (0..FLIPS)
        .map(|flip| {
            let mut bytes = bytes.clone();
            bytes[at(flip)] ^= 1;
            Value::from(STANDARD.encode(bytes))
        })
        .collect()
}

/// Other values than `value` a careless comparison might let through.
fn others(field: &str, value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(1), json!("1"), json!(false)],
        Value::Bool(bool) => vec![json!(!bool), Value::Null],
        Value::Number(number) => vec![json!(number.as_u64().unwrap() + 1), json!(0), Value::Null],
        Value::String(text) if field.ends_with("_xdr") => {
            let mut all = flipped(text);
            all.push(Value::Null);
            all
        }
        Value::String(text) => vec![json!(format!("{text}0")), json!(text[1..]), Value::Null],
        Value::Array(items) => others_of_list(field, items),
        Value::Object(map) => map
            .iter()
            .flat_map(|(name, inner)| {
                others(name, inner).into_iter().map(|other| {
                    let mut map = map.clone();
                    map.insert(name.clone(), other);
                    Value::Object(map)
                })
            })
            .collect(),
    }
}

fn others_of_list(field: &str, items: &[Value]) -> Vec<Value> {
    let mut all = vec![Value::Null];
    for (index, item) in items.iter().enumerate() {
        let mut shorter = items.to_vec();
        shorter.remove(index);
        all.push(Value::Array(shorter));
        for other in others(field, item) {
            let mut changed = items.to_vec();
            changed[index] = other;
            all.push(Value::Array(changed));
        }
        let mut longer = items.to_vec();
        longer.push(item.clone());
        all.push(Value::Array(longer));
    }
    all
}

/// Alters every compared field of every step of a trace's start, and says how many alterations there were.
///
/// Each alteration replays all steps before it, so long traces are cut.
fn alter_everything(name: &str, steps: usize) -> usize {
    let mut lines = trace(name);
    lines.truncate(steps + 1);
    play(&lines).unwrap();
    let mut count = 0;
    for index in 1..lines.len() {
        let kind = lines[index]["step"].as_str().unwrap().to_owned();
        let (own, answered) = compared_fields(&kind);
        assert!(own.len() + answered.len() > 0, "{kind}");
        let own = own.iter().map(|field| (*field, false));
        for (field, in_answer) in own.chain(answered.iter().map(|field| (*field, true))) {
            let value = if in_answer {
                lines[index]["answer"][field].clone()
            } else {
                lines[index][field].clone()
            };
            for other in others(field, &value) {
                if other == value {
                    continue;
                }
                // What comes after the step must not be needed to see the difference.
                let mut lines = lines[..=index].to_vec();
                let step = &mut lines[index];
                if in_answer {
                    step["answer"][field] = other.clone();
                } else {
                    step[field] = other.clone();
                }
                let n = step["n"].as_u64().unwrap();
                let seen = play(&lines);
                let difference = seen.expect_err(&format!("{name} {n} {field}: {other}"));
                assert_eq!(
                    (difference.step, difference.kind.as_str()),
                    (n, kind.as_str())
                );
                assert!(difference.field.starts_with(field), "{difference}");
                count += 1;
            }
        }
    }
    println!("{name}: {count} alterations, all seen");
    count
}

#[test]
fn altered_queue_answers_are_seen() {
    assert!(alter_everything("queue_muxed_source", 99) > 200);
}

#[test]
fn altered_bounds_and_clocks_are_seen() {
    assert!(alter_everything("bounds_drift", 99) > 400);
}

#[test]
fn altered_fee_bumps_are_seen() {
    assert!(alter_everything("fee_bump_failing_inner", 99) > 300);
}

#[test]
fn altered_trustlines_are_seen() {
    assert!(alter_everything("change_trust", 12) > 300);
}

#[test]
fn altered_failures_are_seen() {
    assert!(alter_everything("sig_op_source", 99) > 400);
}

#[test]
fn a_trace_that_is_no_trace_is_refused() {
    let lines = trace("queue_muxed_source");
    assert_eq!(replay("".as_bytes()).unwrap_err().field, "header");
    assert_eq!(play(&lines[..1]).unwrap_err().field, "steps");
    let refused = |field: &str, value: Value| {
        let mut lines = lines.clone();
        lines[0][field] = value;
        play(&lines).unwrap_err().field
    };
    assert_eq!(refused("format", json!("stellar-trace/2")), "format");
    assert_eq!(refused("protocol", json!(25)), "protocol");
    assert_eq!(
        refused("soroban_config", json!("soroban_config.json")),
        "soroban_config"
    );
    assert_eq!(refused("initial_state", json!([])), "initial_state");
    assert_eq!(refused("base_fee", json!("100")), "base_fee");
    let mut gap = lines.clone();
    gap.remove(3);
    assert_eq!(play(&gap).unwrap_err().field, "n");
    let mut unknown = lines.clone();
    unknown[2]["step"] = json!("simulate");
    assert_eq!(play(&unknown).unwrap_err().field, "step");
    assert_eq!(replay("not JSON".as_bytes()).unwrap_err().field, "line");
}

#[test]
fn a_trace_with_an_operation_that_is_not_simulated_is_no_pass() {
    let mut lines = trace("queue_muxed_source");
    let text = lines[1]["envelope_xdr"].as_str().unwrap();
    let mut envelope = TransactionEnvelope::from_xdr_base64(text, Limits::none()).unwrap();
    let TransactionEnvelope::Tx(v1) = &mut envelope else {
        panic!("a plain transaction")
    };
    let mut operations = v1.tx.operations.to_vec();
    operations[0].body = OperationBody::Inflation;
    v1.tx.operations = operations.try_into().unwrap();
    let passphrase = lines[0]["passphrase"].as_str().unwrap();
    let id = Sha256::digest(passphrase.as_bytes()).into();
    let hash = hex::encode(envelope.hash(id).unwrap());
    lines[1]["envelope_xdr"] = json!(envelope.to_xdr_base64(Limits::none()).unwrap());
    lines[1]["hash"] = json!(hash);
    let difference = play(&lines).unwrap_err();
    assert_eq!((difference.step, &*difference.field), (1, "status"));
    assert!(difference.actual.contains("Inflation"), "{difference}");
}
