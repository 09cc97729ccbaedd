//! Runs `tender config check` with a configuration of the test's own.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use tender::config::{Exposure, registry};

/// Stands for the secret key of test account `n`; made at run time, so that no file holds one.
pub fn key(n: u8) -> String {
    stellar_strkey::ed25519::PrivateKey([n; 32])
        .to_string()
        .as_str()
        .to_owned()
}

/// A seed of 64 bytes in hex.
pub fn seed() -> String {
    hex::encode((0..64).collect::<Vec<u8>>())
}

/// A configuration that serves every role.
pub fn valid() -> BTreeMap<String, String> {
    let pairs = [
        ("DATABASE_URL", "postgres://tender:hunter2@db:5432/tender"),
        ("REDIS_URL", "redis://:hunter2@redis:6379/0"),
        ("STELLAR_RPC_URLS", "https://rpc.example/hunter2"),
        (
            "STELLAR_NETWORK_PASSPHRASE",
            "Test SDF Network ; September 2015",
        ),
        ("STELLAR_TREASURY_SECRET", "{key1}"),
        ("STELLAR_CHANNEL_SEED", "{seed}"),
    ];
    with(BTreeMap::new(), &pairs)
}

/// The same configuration with other values; an empty one takes the setting out. `{key1}`, `{G}` and the like stand for test keys.
pub fn with(
    mut base: BTreeMap<String, String>,
    changes: &[(&str, &str)],
) -> BTreeMap<String, String> {
    for (name, value) in changes {
        if value.is_empty() {
            base.remove(*name);
        } else {
            base.insert((*name).to_owned(), expand(value));
        }
    }
    base
}

fn expand(template: &str) -> String {
    let address = stellar_strkey::ed25519::PublicKey([9; 32]).to_string();
    let mut value = template.replace("{seed}", &seed()).replace("{G}", &address);
    for n in 1..=4 {
        value = value.replace(&format!("{{key{n}}}"), &key(n));
    }
    value
}

/// How the program ended and what it said.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the program in an empty directory with this environment and nothing else.
pub fn run(args: &[&str], env: &BTreeMap<String, String>) -> Outcome {
    run_in(TempDir::new().unwrap().path(), args, env)
}

/// Runs the program in `directory` with this environment and nothing else.
pub fn run_in(directory: &Path, args: &[&str], env: &BTreeMap<String, String>) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_tender"))
        .args(args)
        .current_dir(directory)
        .env_clear()
        .envs(env)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let outcome = Outcome {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    };
    assert_no_secret(&outcome, env);
    outcome
}

/// Nothing that was set secretly may be repeated: no value of a secret setting, no test key, no password.
fn assert_no_secret(outcome: &Outcome, env: &BTreeMap<String, String>) {
    let hidden = registry::all().filter(|s| s.exposure != Exposure::Public);
    let values = hidden.filter_map(|s| env.get(s.name).cloned());
    let keys = (1..=4).map(key).chain([seed(), "hunter2".to_owned()]);
    let parts = values.flat_map(|v| v.split(',').map(str::to_owned).collect::<Vec<_>>());
    for secret in parts.chain(keys).filter(|v| v.len() > 5) {
        // A URL without credentials is no secret.
        let open = secret.contains("://") && !secret.contains("hunter2");
        let said = outcome.stdout.contains(&secret) || outcome.stderr.contains(&secret);
        assert!(
            open || !said,
            "a secret is shown:\n{}{}",
            outcome.stdout,
            outcome.stderr
        );
    }
}

/// Runs `config check` for a role and asserts that it finds exactly these faults: setting, and a part of what is said of it.
pub fn assert_faults(role: &str, env: &BTreeMap<String, String>, expected: &[(&str, &str)]) {
    let outcome = run(&["config", "check", "--role", role], env);
    assert_faults_of(&outcome, expected);
}

/// Asserts that the program failed over exactly these faults.
pub fn assert_faults_of(outcome: &Outcome, expected: &[(&str, &str)]) {
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "");
    let mut lines = outcome.stderr.lines();
    let count = match expected.len() {
        1 => "1 fault".to_owned(),
        n => format!("{n} faults"),
    };
    let title = format!("error: {count} in the configuration:");
    assert_eq!(lines.next().unwrap(), title, "{}", outcome.stderr);
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), expected.len(), "{}", outcome.stderr);
    for (setting, part) in expected {
        let found = lines.iter().any(|line| {
            let said = line.strip_prefix(&format!("  {setting}: "));
            said.is_some_and(|said| said.contains(part))
        });
        assert!(found, "no `{setting}: ...{part}...` in\n{}", outcome.stderr);
    }
}
