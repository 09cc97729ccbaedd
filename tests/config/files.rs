//! Settings from `.env` and secrets from files.

use super::program::{assert_faults, assert_faults_of, key, run_in, valid, with};
use std::fs;
use tempfile::TempDir;

#[test]
fn a_secret_may_come_from_a_file() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("key"), format!("{}\n", key(1))).unwrap();
    let changes = [
        ("STELLAR_TREASURY_SECRET", ""),
        ("STELLAR_TREASURY_SECRET_FILE", "key"),
    ];
    let config = with(valid(), &changes);
    let outcome = run_in(directory.path(), &["config", "check"], &config);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome
            .stdout
            .contains("STELLAR_TREASURY_SECRET=***  # from a file\n")
    );
}

#[test]
fn a_secret_comes_from_one_place() {
    let config = with(
        valid(),
        &[
            ("DATABASE_URL_FILE", "/url"),
            ("STELLAR_CHANNEL_SEED_FILE", "/seed"),
        ],
    );
    let faults = [
        ("DATABASE_URL", "contradicts DATABASE_URL_FILE"),
        (
            "STELLAR_CHANNEL_SEED",
            "contradicts STELLAR_CHANNEL_SEED_FILE",
        ),
    ];
    assert_faults("all", &config, &faults);
}

#[test]
fn files_that_cannot_serve_are_faults() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("empty"), " \n").unwrap();
    fs::write(path("binary"), [0xff, 0xfe]).unwrap();
    fs::write(path("large"), "a".repeat(300_000)).unwrap();
    let changes = [
        ("DATABASE_URL", ""),
        ("DATABASE_URL_FILE", "empty"),
        ("REDIS_URL", ""),
        ("REDIS_URL_FILE", "binary"),
        ("STELLAR_RPC_URLS", ""),
        ("STELLAR_RPC_URLS_FILE", "large"),
        ("STELLAR_CHANNEL_SEED", ""),
        ("STELLAR_CHANNEL_SEED_FILE", "."),
        ("STELLAR_TREASURY_SECRET", ""),
        // The key itself where its file should be named: it must not be repeated.
        ("STELLAR_TREASURY_SECRET_FILE", "{key1}"),
    ];
    let outcome = run_in(
        directory.path(),
        &["config", "check"],
        &with(valid(), &changes),
    );
    let faults = [
        ("DATABASE_URL_FILE", "the file is empty"),
        ("REDIS_URL_FILE", "not UTF-8"),
        ("STELLAR_RPC_URLS_FILE", "larger than"),
        ("STELLAR_CHANNEL_SEED_FILE", "cannot be read"),
        ("STELLAR_TREASURY_SECRET_FILE", "does not exist"),
    ];
    assert_faults_of(&outcome, &faults);
}

#[test]
fn the_environment_wins_over_the_env_file() {
    let directory = TempDir::new().unwrap();
    fs::write(
        directory.path().join(".env"),
        "QUEUE_WINDOW=100\nQUEUE_CONCURRENCY=7\n",
    )
    .unwrap();
    let config = with(valid(), &[("QUEUE_WINDOW", "200")]);
    let outcome = run_in(directory.path(), &["config", "check"], &config);
    assert!(
        outcome.stdout.contains("QUEUE_WINDOW=200\n"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stdout.contains("QUEUE_CONCURRENCY=7\n"));
}

#[test]
fn faults_of_the_env_file_come_with_the_others() {
    let directory = TempDir::new().unwrap();
    let text = "QUEUE_WINDOW=0\nSTELLAR_TREASURY_SECRET=hunter2 hunter2\nLOG_LEVEL=1\nTX_MAX_CLAIMS=1\nTX_MAX_CLAIMS=2\n";
    fs::write(directory.path().join(".env"), text).unwrap();
    let outcome = run_in(directory.path(), &["config", "check"], &valid());
    let faults = [
        ("QUEUE_WINDOW", "not `0`"),
        (".env", "line 2 is not NAME=value"),
        ("LOG_LEVEL", "is unknown"),
        ("TX_MAX_CLAIMS", "is set twice in .env"),
    ];
    assert_faults_of(&outcome, &faults);
}

#[test]
fn a_chosen_env_file_must_exist() {
    let directory = TempDir::new().unwrap();
    let args = ["config", "check", "--env-file", "production.env"];
    let outcome = run_in(directory.path(), &args, &valid());
    assert_faults_of(&outcome, &[("--env-file", "does not exist")]);
    fs::write(directory.path().join("production.env"), "TX_MAX_CLAIMS=3\n").unwrap();
    let outcome = run_in(directory.path(), &args, &valid());
    assert!(outcome.stdout.contains("TX_MAX_CLAIMS=3\n"));
}
