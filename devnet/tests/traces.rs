//! Replays every recorded trace.

use std::path::Path;
use tender_devnet::replay::replay_file;

#[test]
fn every_trace_is_met() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut failed = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if let Err(difference) = replay_file(&path) {
            failed.push(difference.to_string());
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
