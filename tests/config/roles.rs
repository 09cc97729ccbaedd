//! A role fails at start over what it needs, and over nothing else.

use super::program::{assert_faults, key, run, valid, with};
use std::collections::BTreeMap;
use tender::config::{ApiConfig, ReconcilerConfig, Source, WorkerConfig};

fn only(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    with(BTreeMap::new(), pairs)
}

const DATABASE: (&str, &str) = ("DATABASE_URL", "sqlite://pay.sqlite");
const REDIS: (&str, &str) = ("REDIS_URL", "redis://redis");
const RPC: (&str, &str) = ("STELLAR_RPC_URLS", "http://node:8000");
const NETWORK: (&str, &str) = (
    "STELLAR_NETWORK_PASSPHRASE",
    "Standalone Network ; February 2017",
);

/// Names with values, or with words of their faults.
type Pairs<'a> = &'a [(&'a str, &'a str)];

#[test]
fn each_role_starts_with_the_least_it_needs() {
    let fee = ("STELLAR_FEE_SOURCE_SECRET", "{key4}");
    let payer = ("STELLAR_TREASURY_ACCOUNT", "{G}");
    let treasury = ("STELLAR_TREASURY_SECRET", "{key1}");
    let seed = ("STELLAR_CHANNEL_SEED", "{seed}");
    let rows: [(&str, Pairs); 7] = [
        ("api", &[DATABASE]),
        ("store", &[DATABASE]),
        ("dev", &[]),
        ("reconciler", &[DATABASE, REDIS, RPC, NETWORK, fee, payer]),
        ("reconciler", &[DATABASE, REDIS, RPC, NETWORK, treasury]),
        ("worker", &[DATABASE, REDIS, RPC, NETWORK, treasury, seed]),
        ("channels", &[DATABASE, RPC, NETWORK, treasury, seed]),
    ];
    for (role, settings) in rows {
        let outcome = run(&["config", "check", "--role", role], &only(settings));
        assert_eq!(outcome.code, 0, "{role}: {}", outcome.stderr);
    }
}

#[test]
fn each_role_misses_what_it_needs() {
    let rows: [(&str, Pairs); 4] = [
        ("api", &[("DATABASE_URL", "required")]),
        ("store", &[("DATABASE_URL", "required")]),
        (
            "reconciler",
            &[
                ("DATABASE_URL", "required"),
                ("REDIS_URL", "required"),
                ("STELLAR_RPC_URLS", "required"),
                ("STELLAR_NETWORK_PASSPHRASE", "required"),
                (
                    "STELLAR_TREASURY_SECRET",
                    "STELLAR_TREASURY_ACCOUNT and STELLAR_FEE_SOURCE_SECRET instead",
                ),
            ],
        ),
        (
            "channels",
            &[
                ("DATABASE_URL", "required"),
                ("STELLAR_RPC_URLS", "required"),
                ("STELLAR_NETWORK_PASSPHRASE", "required"),
                ("STELLAR_TREASURY_SECRET", "required"),
                ("STELLAR_CHANNEL_SEED", "required"),
            ],
        ),
    ];
    for (role, faults) in rows {
        assert_faults(role, &BTreeMap::new(), faults);
    }
}

#[test]
fn the_api_never_takes_a_signing_key_and_does_not_mind_a_bad_one() {
    let config = with(valid(), &[("STELLAR_TREASURY_SECRET", "hunter2")]);
    let outcome = run(&["config", "check", "--role", "api"], &config);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for name in ["TREASURY", "FEE_SOURCE", "CHANNEL"] {
        assert!(!outcome.stdout.contains(name), "{}", outcome.stdout);
    }
    let config = ApiConfig::load(&Source::from_pairs(only(&[DATABASE]))).unwrap();
    assert!(config.redis.is_none() && config.rpc.is_none());
}

#[test]
fn the_embedded_stack_reads_nothing_of_a_real_deployment() {
    let config = with(
        valid(),
        &[
            ("DATABASE_URL", "nonsense"),
            ("STELLAR_RPC_URLS", "nonsense"),
        ],
    );
    let outcome = run(&["config", "check", "--role", "dev"], &config);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("DATABASE") && !outcome.stdout.contains("STELLAR"));
}

#[test]
fn workers_and_reconcilers_serve_probes_if_they_are_told_where() {
    let source = Source::from_pairs(valid());
    assert_eq!(WorkerConfig::load(&source).unwrap().probes, None);
    assert_eq!(ReconcilerConfig::load(&source).unwrap().probes, None);
    let source = Source::from_pairs(with(valid(), &[("PROBE_BIND", "127.0.0.1:9")]));
    let bind = "127.0.0.1:9".parse().ok();
    assert_eq!(WorkerConfig::load(&source).unwrap().probes, bind);
    assert_eq!(ReconcilerConfig::load(&source).unwrap().probes, bind);
    let api = with(valid(), &[("PROBE_BIND", "nonsense")]);
    let outcome = run(&["config", "check", "--role", "api"], &api);
    assert_eq!(outcome.code, 0, "an api has an address: {}", outcome.stderr);
}

#[test]
fn a_reconciler_takes_the_fee_source_and_leaves_the_treasury() {
    let pairs = [("STELLAR_FEE_SOURCE_SECRET", "{key4}")];
    let source = Source::from_pairs(with(valid(), &pairs));
    assert_eq!(
        ReconcilerConfig::load(&source).unwrap().fee_source.expose(),
        key(4)
    );
}

#[test]
fn a_role_that_starts_lists_its_faults_too() {
    for role in ["api", "worker", "reconciler"] {
        let outcome = run(
            &[role],
            &only(&[("DATABASE_URL", "hunter2"), ("LOG_LEVEL", "1")]),
        );
        assert_eq!(outcome.code, 1);
        assert!(
            outcome.stderr.contains("DATABASE_URL: is not a URL"),
            "{}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains("LOG_LEVEL: is unknown"),
            "{}",
            outcome.stderr
        );
    }
}
