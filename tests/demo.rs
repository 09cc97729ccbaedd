//! The demonstration as people run it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed test may panic"
)]

mod support;

use serde_json::Value;
use support::process::tender;

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
