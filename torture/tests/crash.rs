//! The torture in the size that fits everyday tests: every failpoint and 300 kills, then the audit. The long form is the
//! program itself.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a failed expectation is how a test speaks"
)]

use std::process::Command;

const KILLS: &str = "300";
const SEED: &str = "20261201";
const PICKUPS: &str = "3";
/// Twice what is promised: three kills on a busy machine are no percentile, and only show that nothing waits for ever.
const PICKUP_LIMIT_S: &str = "10";

#[test]
fn heavy_three_hundred_kills_lose_nothing_and_pay_nothing_twice() {
    let output = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["--kills", KILLS, "--seed", SEED, "--pickups", PICKUPS])
        .args(["--pickup-limit", PICKUP_LIMIT_S])
        .output()
        .expect("the program starts");
    let report = String::from_utf8_lossy(&output.stdout);
    let story = String::from_utf8_lossy(&output.stderr);
    println!("{report}");
    assert!(output.status.success(), "{story}");
    let report: serde_json::Value = serde_json::from_str(&report).expect("a report");
    assert!(report["kills"]["total"].as_u64().unwrap() >= 300);
    assert!(report["steps"].as_u64().unwrap() >= 60);
    let coverage = report["coverage"].as_object().unwrap();
    for (step, sides) in coverage {
        let sides = sides.as_array().unwrap();
        let died = sides.iter().all(|deaths| deaths.as_u64() > Some(0));
        assert!(died, "{step}: {sides:?}");
    }
}
