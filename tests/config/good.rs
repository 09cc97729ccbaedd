//! What a configuration without faults comes to.

use super::program::{run, valid, with};
use tender::config::{ApiConfig, ChannelKeys, Cors, Source, WorkerConfig};

#[test]
fn effective_settings_are_shown_without_secrets() {
    let outcome = run(&["config", "check"], &valid());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "");
    let shown = [
        "DATABASE_URL=postgres://***@db:5432/tender",
        "REDIS_URL=redis://***@redis:6379/0",
        "STELLAR_RPC_URLS=https://rpc.example/***",
        "STELLAR_NETWORK_PASSPHRASE=Test SDF Network ; September 2015",
        "STELLAR_TREASURY_SECRET=***",
        "STELLAR_CHANNEL_SEED=***",
        "# STELLAR_FEE_SOURCE_SECRET is not set",
        "TX_CONFIRMATION_TIMEOUT_MS=120000  # default",
    ];
    for line in shown {
        assert!(
            outcome.stdout.lines().any(|l| l == line),
            "{line} in\n{}",
            outcome.stdout
        );
    }
}

#[test]
fn values_reach_the_roles() {
    let changes = [
        (
            "HTTP_CORS_ORIGINS",
            "https://shop.example, http://localhost:3000",
        ),
        ("HTTP_PUBLIC_URL", "https://pay.example/"),
    ];
    let source = Source::from_pairs(with(valid(), &changes));
    let worker = WorkerConfig::load(&source).unwrap();
    assert_eq!(worker.submit.window.as_secs(), 120);
    assert_eq!(worker.submit.max_in_flight, None);
    assert_eq!(worker.signers.channels.count(), 20);
    assert_eq!(worker.signers.treasury, worker.signers.fee_source);
    assert_eq!(
        worker.rpc.urls.first().unwrap().expose(),
        "https://rpc.example/hunter2"
    );
    let api = ApiConfig::load(&source).unwrap();
    let origins = ["https://shop.example", "http://localhost:3000"].map(str::to_owned);
    assert_eq!(api.http.cors, Cors::Origins(origins.to_vec()));
    assert_eq!(api.http.public_url.unwrap(), "https://pay.example");
}

#[test]
fn listed_channel_keys_are_counted() {
    let changes = [
        ("STELLAR_CHANNEL_SEED", ""),
        ("STELLAR_CHANNEL_ACCOUNTS", "{key2}, {key3}"),
    ];
    let source = Source::from_pairs(with(valid(), &changes));
    let channels = WorkerConfig::load(&source).unwrap().signers.channels;
    assert!(matches!(&channels, ChannelKeys::Listed(keys) if keys.len() == 2));
    assert_eq!(channels.count(), 2);
}

#[test]
fn debug_of_a_configuration_shows_no_secret() {
    let config = WorkerConfig::load(&Source::from_pairs(valid())).unwrap();
    let shown = format!("{config:?}");
    let secrets = [
        super::program::key(1),
        super::program::seed(),
        "hunter2".to_owned(),
    ];
    for secret in secrets {
        assert!(!shown.contains(&secret), "{shown}");
    }
}

#[test]
fn variables_of_others_and_empty_ones_do_not_matter() {
    let mut config = with(
        valid(),
        &[
            ("HTTP_PROXY", "http://proxy"),
            ("REDIS_PORT_6379_TCP_ADDR", "10.0.0.1"),
            ("PATH", "/bin"),
        ],
    );
    config.insert("QUEUE_WINDOW".to_owned(), String::new());
    config.insert("STELLAR_CHANNEL_ACCOUNTS".to_owned(), " ".to_owned());
    let outcome = run(&["config", "check"], &config);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("QUEUE_WINDOW=500  # default\n"));
}
