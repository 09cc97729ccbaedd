//! The demonstration as people run it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed test may panic"
)]

mod support;

use std::time::{Duration, Instant};

use serde_json::Value;
use support::{PATIENCE, log::Stream, process::tender, scratch::Scratch};

#[test]
fn every_key_takes_effect_once_although_answers_are_lost() {
    let args = "demo --payments 100 --duplicates 40 --channels 20 --close-ms 300 --exit --json";
    let finished = tender(&args.split(' ').collect::<Vec<_>>()).run().success();
    let report: Value = serde_json::from_str(finished.stdout.last().unwrap()).unwrap();
    println!("{report}");
    assert_eq!(report["unique_keys"], 100);
    assert_eq!(report["effects"], 100);
    assert_eq!(report["doubled"], 0);
    assert_eq!(report["missing"], 0);
    assert!(report["answers_lost"].as_u64().unwrap() >= 20, "{report}");
    let number = |name: &str| {
        report[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {report}"))
    };
    for name in [
        "payments_per_ledger",
        "slots_filled",
        "rpc_calls_per_payment",
        "elapsed_s",
    ] {
        assert!(number(name) > 0.0, "{name}: {report}");
    }
    assert!(
        number("confirm_p50_ms") <= number("confirm_p99_ms"),
        "{report}"
    );
    assert!(report["failed"].as_object().unwrap().is_empty(), "{report}");
}

/// Runs a command of the embedded stack until it works, then tells it to end: its exit status and what it says.
/// Whatever it made in its temporary directory has to be gone.
fn interrupted(args: &[&str]) -> (Option<i32>, Vec<String>) {
    let directory = Scratch::new("interrupted", None);
    let mut process = tender(args)
        .env("TMPDIR", directory.path().to_str().unwrap())
        .env("LOG_FILTER", "info")
        .env("HTTP_BIND", "127.0.0.1:0")
        .start();
    process.wait_for_line("worker starts");
    let made = || std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(made(), 1, "it keeps its ledger somewhere");
    let began = Instant::now();
    let status = process.terminate();
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "beyond the grace"
    );
    assert_eq!(made(), 0, "something was left behind");
    process.log().wait_closed(PATIENCE);
    (status.code(), process.log().lines(Stream::Err))
}

#[test]
fn an_interrupted_demonstration_leaves_nothing_behind() {
    for args in [
        &["demo", "--payments", "100000", "--exit"][..],
        &["demo", "--payments", "100000"],
    ] {
        let (status, said) = interrupted(args);
        assert_eq!(status, Some(1), "{said:?}");
        let told = "error: interrupted: there is no report";
        assert!(said.iter().any(|line| line == told), "{said:?}");
    }
}

#[test]
fn the_embedded_stack_ends_in_good_order_and_leaves_nothing_behind() {
    let (status, said) = interrupted(&["dev"]);
    assert_eq!(status, Some(0), "{said:?}");
}
