//! Alert rules: valid, firing when they should, about metrics that there are, and each with a runbook.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::read;

const RULES: &str = "deploy/alerts.yml";
/// Metrics begin so.
const PREFIXES: [&str; 5] = [
    "outbox_",
    "fee_oracle_",
    "reconciler_",
    "stellar_",
    "ledger_",
];

fn promtool(args: &[&str]) {
    let output = Command::new("promtool")
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("promtool is in the package prometheus, and scripts/test installs it");
    let told = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "promtool {args:?}: {told}");
}

#[test]
fn rules_are_valid_and_fire_when_they_should() {
    promtool(&["check", "rules", RULES]);
    promtool(&["test", "rules", "deploy/alerts_test.yml"]);
}

#[test]
fn each_alert_is_tested_both_ways_and_has_a_runbook() {
    let rules: serde_yaml::Value = serde_yaml::from_str(&read(RULES)).unwrap();
    let tests = read("deploy/alerts_test.yml");
    let rules = rules["groups"][0]["rules"].as_sequence().unwrap();
    assert!(rules.len() >= 11, "{}", rules.len());
    for rule in rules {
        let name = rule["alert"].as_str().unwrap();
        let runbook = rule["annotations"]["runbook"].as_str().unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(runbook);
        assert!(file.is_file(), "{name}: {runbook}");
        assert!(
            tests.contains(&format!("{{ alertname: {name}, ")),
            "{name} is quiet"
        );
        assert!(
            tests.contains(&format!("alertname: {name}\n")),
            "{name} fires"
        );
    }
}

#[test]
fn rules_are_about_metrics_that_there_are() {
    let (rules, metrics) = (read(RULES), read("src/metrics/mod.rs"));
    let words = rules.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
    let named: BTreeSet<_> = words
        .filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix)))
        .collect();
    assert!(named.len() > 8, "{named:?}");
    for name in named {
        assert!(metrics.contains(&format!("\"{name}\"")), "{name}");
    }
}
