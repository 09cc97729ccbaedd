//! Bad values: each configuration names all its faults at once and shows no secret.

use super::program::{assert_faults, valid, with};
use std::collections::BTreeMap;

/// Changes to a valid configuration for every role, and the faults they make.
type Case = (
    &'static [(&'static str, &'static str)],
    &'static [(&'static str, &'static str)],
);

fn assert_all(cases: &[Case]) {
    for (changes, faults) in cases {
        assert_faults("all", &with(valid(), changes), faults);
    }
}

#[test]
fn nothing_set_at_all() {
    assert_faults(
        "all",
        &BTreeMap::new(),
        &[
            ("DATABASE_URL", "required"),
            ("REDIS_URL", "required"),
            ("STELLAR_RPC_URLS", "required"),
            ("STELLAR_NETWORK_PASSPHRASE", "required"),
            ("STELLAR_TREASURY_SECRET", "required"),
            ("STELLAR_CHANNEL_SEED", "required"),
        ],
    );
}

#[test]
fn everything_wrong_at_once() {
    let changes = [
        ("DATABASE_URL", "hunter2"),
        ("REDIS_URL", "hunter2"),
        ("STELLAR_RPC_URLS", "hunter2"),
        ("STELLAR_NETWORK_PASSPHRASE", "{key1}"),
        ("STELLAR_TREASURY_SECRET", "hunter2"),
        ("STELLAR_FEE_SOURCE_SECRET", "{G}"),
        ("STELLAR_CHANNEL_SEED", "hunter2"),
        ("STELLAR_CHANNEL_COUNT", "{key2}"),
        ("TX_CONFIRMATION_TIMEOUT_MS", "soon"),
        ("OUTBOX_PER_ACCOUNT_MAX_IN_FLIGHT", "2"),
        ("HTTP_BIND", "localhost"),
        ("LOG_FORMAT", "xml"),
        ("STELLAR_TRESURY_SECRET", "{key3}"),
    ];
    let faults = [
        ("DATABASE_URL", "is not a URL"),
        ("REDIS_URL", "is not a URL"),
        ("STELLAR_RPC_URLS", "entry 1 is not a URL"),
        ("STELLAR_NETWORK_PASSPHRASE", "holds a secret key"),
        ("STELLAR_TREASURY_SECRET", "is not a secret key"),
        ("STELLAR_FEE_SOURCE_SECRET", "is a public address"),
        ("STELLAR_CHANNEL_SEED", "is not hex"),
        ("STELLAR_CHANNEL_COUNT", "from 1 to 1000, not `***`"),
        (
            "TX_CONFIRMATION_TIMEOUT_MS",
            "from 1000 to 600000, not `soon`",
        ),
        (
            "OUTBOX_PER_ACCOUNT_MAX_IN_FLIGHT",
            "one transaction per account",
        ),
        ("HTTP_BIND", "must be an IP address and a port"),
        ("LOG_FORMAT", "must be auto, pretty or json, not `xml`"),
        (
            "STELLAR_TRESURY_SECRET",
            "did you mean STELLAR_TREASURY_SECRET?",
        ),
    ];
    assert_faults("all", &with(valid(), &changes), &faults);
}

/// One slot would leave none for critical jobs.
#[test]
fn a_worker_runs_at_least_two_jobs_at_once() {
    let faults = [("QUEUE_CONCURRENCY", "from 2 to 1024, not `1`")];
    assert_faults(
        "all",
        &with(valid(), &[("QUEUE_CONCURRENCY", "1")]),
        &faults,
    );
    let faults = [("QUEUE_WINDOW", "from 2 to 5000, not `1`")];
    assert_faults("all", &with(valid(), &[("QUEUE_WINDOW", "1")]), &faults);
}

#[test]
fn databases() {
    assert_all(&[
        (
            &[("DATABASE_URL", "mysql://u:hunter2@db/pay")],
            &[("DATABASE_URL", "PostgreSQL or SQLite")],
        ),
        (
            &[("DATABASE_URL", "postgres://u:hunter2@db")],
            &[("DATABASE_URL", "names no database")],
        ),
        (
            &[("DATABASE_URL", "postgres://u:hun#hunter2@db/pay")],
            &[("DATABASE_URL", "is not a URL")],
        ),
        (
            &[("DATABASE_URL", "postgres://u@db/pay#hunter2")],
            &[("DATABASE_URL", "%23")],
        ),
        (
            &[("DATABASE_URL", "postgres:///pay")],
            &[("DATABASE_URL", "names no host")],
        ),
        (
            &[("DATABASE_URL", "sqlite::memory:")],
            &[("DATABASE_URL", "in memory")],
        ),
        (
            &[("DATABASE_URL", "sqlite://pay?mode=memory")],
            &[("DATABASE_URL", "in memory")],
        ),
        (
            &[("DATABASE_URL", "sqlite://")],
            &[("DATABASE_URL", "names no file")],
        ),
        (
            &[("REDIS_URL", "rediss://:hunter2@redis/0")],
            &[("REDIS_URL", "TLS")],
        ),
        (
            &[("REDIS_URL", "http://redis")],
            &[("REDIS_URL", "must begin with redis://")],
        ),
        (
            &[("REDIS_URL", "redis://redis/jobs")],
            &[("REDIS_URL", "number of a database")],
        ),
    ]);
}

#[test]
fn the_network() {
    assert_all(&[
        (
            &[("STELLAR_RPC_URLS", "https://a,,https://a")],
            &[
                ("STELLAR_RPC_URLS", "entry 2 is empty"),
                ("STELLAR_RPC_URLS", "entry 3 repeats"),
            ],
        ),
        (
            &[("STELLAR_RPC_URLS", "https://a,ftp://b/hunter2")],
            &[(
                "STELLAR_RPC_URLS",
                "entry 2 must begin with http:// or https://",
            )],
        ),
        (
            &[(
                "STELLAR_NETWORK_PASSPHRASE",
                "Test SDF Network; September 2015",
            )],
            &[(
                "STELLAR_NETWORK_PASSPHRASE",
                "is nearly, but not quite, `Test SDF Network ; September 2015`",
            )],
        ),
        (
            &[(
                "STELLAR_NETWORK_PASSPHRASE",
                "public global stellar network ; september 2015",
            )],
            &[(
                "STELLAR_NETWORK_PASSPHRASE",
                "`Public Global Stellar Network ; September 2015`",
            )],
        ),
    ]);
    let many: Vec<_> = (0..17).map(|n| format!("http://node{n}")).collect();
    let many = many.join(",");
    let config = with(valid(), &[("STELLAR_RPC_URLS", &many)]);
    assert_faults("worker", &config, &[("STELLAR_RPC_URLS", "more than 16")]);
    let long = "x".repeat(129);
    let config = with(valid(), &[("STELLAR_NETWORK_PASSPHRASE", &long)]);
    assert_faults(
        "worker",
        &config,
        &[("STELLAR_NETWORK_PASSPHRASE", "longer than 128")],
    );
}

#[test]
fn signing_keys() {
    let wrong_checksum = format!("S{}", "A".repeat(55));
    let config = with(valid(), &[("STELLAR_TREASURY_SECRET", &wrong_checksum)]);
    assert_faults(
        "worker",
        &config,
        &[("STELLAR_TREASURY_SECRET", "checksum")],
    );
    let zeros = "00".repeat(32);
    let config = with(valid(), &[("STELLAR_CHANNEL_SEED", &zeros)]);
    assert_faults(
        "worker",
        &config,
        &[("STELLAR_CHANNEL_SEED", "repeats one byte")],
    );
    assert_all(&[
        (
            &[("STELLAR_CHANNEL_SEED", "legal winner thank year wave")],
            &[("STELLAR_CHANNEL_SEED", "mnemonic")],
        ),
        (
            &[("STELLAR_CHANNEL_SEED", "0123456789abcdef")],
            &[("STELLAR_CHANNEL_SEED", "16 to 64 bytes, not 8")],
        ),
        (
            &[("STELLAR_CHANNEL_SEED", "{seed}ff")],
            &[("STELLAR_CHANNEL_SEED", "16 to 64 bytes, not 65")],
        ),
        (
            &[
                ("STELLAR_CHANNEL_SEED", ""),
                (
                    "STELLAR_CHANNEL_ACCOUNTS",
                    "{key2},{key3},{key2},hunter2,{G},",
                ),
            ],
            &[
                ("STELLAR_CHANNEL_ACCOUNTS", "entry 3 repeats"),
                ("STELLAR_CHANNEL_ACCOUNTS", "entry 4 is not a secret key"),
                ("STELLAR_CHANNEL_ACCOUNTS", "entry 5 is a public address"),
                ("STELLAR_CHANNEL_ACCOUNTS", "entry 6 is empty"),
            ],
        ),
    ]);
}

#[test]
fn numbers() {
    for bad in [
        "-1",
        "+5",
        "1e3",
        "0x10",
        "1.5",
        "1 000",
        "99999999999999999999",
        "none",
    ] {
        let config = with(valid(), &[("QUEUE_WINDOW", bad), ("TX_MAX_CLAIMS", bad)]);
        let said = format!("not `{bad}`");
        assert_faults(
            "all",
            &config,
            &[("QUEUE_WINDOW", &said), ("TX_MAX_CLAIMS", &said)],
        );
    }
    assert_all(&[
        (
            &[("STELLAR_CHANNEL_COUNT", "1001")],
            &[("STELLAR_CHANNEL_COUNT", "1 to 1000")],
        ),
        (
            &[("OUTBOX_MAX_ABS_FEE", "199")],
            &[("OUTBOX_MAX_ABS_FEE", "stroops from 200")],
        ),
        (
            &[("HTTP_BODY_LIMIT_BYTES", "1048577")],
            &[("HTTP_BODY_LIMIT_BYTES", "bytes from 1024")],
        ),
        (
            &[("TX_CONFIRMATION_TIMEOUT_MS", "600001")],
            &[("TX_CONFIRMATION_TIMEOUT_MS", "to 600000")],
        ),
    ]);
}

#[test]
fn the_http_service_and_the_log() {
    assert_all(&[
        (
            &[("HTTP_BIND", "0.0.0.0")],
            &[("HTTP_BIND", "an IP address and a port")],
        ),
        (
            &[("PROBE_BIND", "8081")],
            &[("PROBE_BIND", "an IP address and a port")],
        ),
        (
            &[("PROBE_BNID", "127.0.0.1:8081")],
            &[("PROBE_BNID", "did you mean PROBE_BIND?")],
        ),
        (
            &[(
                "HTTP_CORS_ORIGINS",
                "https://shop.example/,shop.example,null",
            )],
            &[
                ("HTTP_CORS_ORIGINS", "entry 1"),
                ("HTTP_CORS_ORIGINS", "entry 2"),
                ("HTTP_CORS_ORIGINS", "entry 3"),
            ],
        ),
        (
            &[("HTTP_PUBLIC_URL", "https://u:hunter2@pay.example")],
            &[("HTTP_PUBLIC_URL", "without user")],
        ),
        (
            &[("LOG_FILTER", "tender=loud")],
            &[("LOG_FILTER", "not `tender=loud`")],
        ),
    ]);
}

#[test]
fn settings_nobody_reads() {
    assert_all(&[
        (
            &[("OUTBOX_MAX_FEE", "5")],
            &[("OUTBOX_MAX_FEE", "did you mean OUTBOX_MAX_ABS_FEE?")],
        ),
        (
            &[("STELLAR_HORIZON_SERVER_URL", "http://a")],
            &[("STELLAR_HORIZON_SERVER_URL", "is unknown")],
        ),
        (
            &[("HTTP_BIND_FILE", "/bind")],
            &[("HTTP_BIND_FILE", "only secrets are read from files")],
        ),
        (
            &[("STELLARR_TREASURY_SECRET", "{key2}")],
            &[(
                "STELLARR_TREASURY_SECRET",
                "did you mean STELLAR_TREASURY_SECRET?",
            )],
        ),
    ]);
}
