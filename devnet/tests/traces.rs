//! The network against traces recorded from a real stellar-core: every one of the list must be there and be met.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed test may panic"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tender_devnet::replay::{Difference, replay_file};

/// Traces the network must meet.
const TRACES: &[&str] = &[
    "bounds_drift",
    "bounds_expire_in_queue",
    "bounds_ledger",
    "bounds_min_seq",
    "bounds_time",
    "bump_sequence",
    "change_trust",
    "create_account",
    "fee_bump_failing_inner",
    "fee_bump_forms",
    "fee_minimum",
    "fee_surge",
    "inledger_bump_sequence",
    "inledger_drain",
    "inledger_signer_removed",
    "pay_asset",
    "pay_many_ops",
    "pay_memo_muxed",
    "pay_native",
    "queue_basic",
    "queue_fee_bump_other_inner",
    "queue_fee_bump_replace",
    "queue_fee_source_balance",
    "queue_full",
    "queue_invalidated",
    "queue_many_channels",
    "queue_muxed_source",
    "queue_sequence_numbers",
    "queue_starved",
    "queue_starved_then_bumped",
    "queue_too_large",
    "sig_op_source",
    "sig_source",
    "sig_thresholds",
    "sponsored_channel",
    "sponsoring_failures",
];

/// Recorded traces the network cannot meet, with the reason.
const UNMET: &[(&str, &str)] = &[];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces")
}

#[test]
fn the_directory_holds_exactly_the_listed_traces() {
    let listed: BTreeSet<String> = TRACES
        .iter()
        .chain(UNMET.iter().map(|(name, _)| name))
        .map(|name| format!("{name}.jsonl"))
        .collect();
    let present: BTreeSet<String> = std::fs::read_dir(directory())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(present, listed);
}

#[test]
fn every_listed_trace_is_met() {
    let mut steps = 0;
    let mut failed: Vec<Difference> = Vec::new();
    for name in TRACES {
        match replay_file(&directory().join(format!("{name}.jsonl"))) {
            Ok(summary) => {
                assert_eq!(summary.scenario, *name);
                steps += summary.steps;
            }
            Err(difference) => failed.push(difference),
        }
    }
    let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    println!("{} traces, {steps} steps, all equal", TRACES.len());
}

#[test]
fn an_unmet_trace_really_fails() {
    for (name, reason) in UNMET {
        let met = replay_file(&directory().join(format!("{name}.jsonl"))).is_ok();
        assert!(!met, "{name} is met now, no longer: {reason}");
    }
}
