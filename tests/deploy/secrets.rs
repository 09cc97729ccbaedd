//! `deploy/make-secrets`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use sha2::{Digest, Sha256};
use stellar_strkey::ed25519::PrivateKey;

use crate::{read, support::scratch::Scratch};

fn run(dir: &Path, passphrase: &str) -> Output {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/make-secrets"))
        .arg(dir)
        .env("STELLAR_NETWORK_PASSPHRASE", passphrase)
        .output()
        .expect("the script runs")
}

/// Runs the script, and returns the directory.
pub fn make_secrets(dir: &Path, passphrase: &str) -> PathBuf {
    let output = run(dir, passphrase);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    dir.to_owned()
}

#[test]
fn the_treasury_is_the_root_account_of_the_network() {
    let scratch = Scratch::new("secrets", None);
    for (index, passphrase) in ["Standalone Network ; February 2017", "a", "x y z"]
        .into_iter()
        .enumerate()
    {
        let made = make_secrets(&scratch.path().join(index.to_string()), passphrase);
        let seed = fs::read_to_string(made.join("treasury_secret")).unwrap();
        let expected = PrivateKey(Sha256::digest(passphrase.as_bytes()).into());
        assert!(
            PrivateKey::from_string(seed.trim()) == Ok(expected),
            "another key than that of {passphrase:?}"
        );
    }
}

#[test]
fn every_run_draws_other_secrets_and_overwrites_none() {
    let scratch = Scratch::new("secrets", None);
    let [one, two] = ["one", "two"].map(|name| make_secrets(&scratch.path().join(name), "a"));
    for random in ["postgres_password", "channel_seed", "database_url"] {
        let [a, b] = [&one, &two].map(|dir| fs::read_to_string(dir.join(random)).unwrap());
        assert_ne!(a, b, "{random}");
    }
    let before = fs::read(one.join("channel_seed")).unwrap();
    assert!(
        !run(&one, "a").status.success(),
        "a second run must not lose the pool's seed"
    );
    assert_eq!(fs::read(one.join("channel_seed")).unwrap(), before);
}

#[test]
fn others_on_the_machine_cannot_reach_them() {
    let scratch = Scratch::new("secrets", None);
    let made = make_secrets(&scratch.path().join("secrets"), "a");
    assert_eq!(
        fs::metadata(&made).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn they_stay_out_of_git_and_out_of_images() {
    let ignored = |file: &str, line: &str| read(file).lines().any(|known| known == line);
    for line in ["deploy/secrets", ".env"] {
        assert!(ignored(".gitignore", line), "{line}");
    }
    let dockerignore = read(".dockerignore");
    let mut lines = dockerignore.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(
        lines.next(),
        Some("*"),
        "everything stays out but what is named"
    );
    assert!(!lines.any(|line| line == "!deploy" || line == "!.env" || line == "!*"));
}
