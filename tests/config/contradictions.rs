//! Settings that are fine alone and wrong together.

use super::program::{assert_faults, run, valid, with};

#[test]
fn channel_keys_come_from_one_place() {
    let both = with(valid(), &[("STELLAR_CHANNEL_ACCOUNTS", "{key2},{key3}")]);
    assert_faults(
        "all",
        &both,
        &[(
            "STELLAR_CHANNEL_SEED",
            "contradicts STELLAR_CHANNEL_ACCOUNTS",
        )],
    );
    let listed = [
        ("STELLAR_CHANNEL_SEED", ""),
        ("STELLAR_CHANNEL_ACCOUNTS", "{key2},{key3}"),
    ];
    let counted = with(with(valid(), &listed), &[("STELLAR_CHANNEL_COUNT", "2")]);
    assert_faults(
        "all",
        &counted,
        &[("STELLAR_CHANNEL_COUNT", "says itself how many")],
    );
}

#[test]
fn a_channel_account_serves_nothing_else() {
    let listed = [
        ("STELLAR_CHANNEL_SEED", ""),
        ("STELLAR_CHANNEL_ACCOUNTS", "{key2},{key3}"),
    ];
    for (name, value) in [
        ("STELLAR_TREASURY_SECRET", "{key2}"),
        ("STELLAR_FEE_SOURCE_SECRET", "{key3}"),
    ] {
        let config = with(with(valid(), &listed), &[(name, value)]);
        assert_faults(
            "all",
            &config,
            &[(
                "STELLAR_CHANNEL_ACCOUNTS",
                "lists the treasury or the fee source",
            )],
        );
    }
}

#[test]
fn an_envelope_outlives_queue_ban_and_early_refusal() {
    let window = |ms: &'static str| with(valid(), &[("TX_CONFIRMATION_TIMEOUT_MS", ms)]);
    assert_faults(
        "worker",
        &window("79999"),
        &[("TX_CONFIRMATION_TIMEOUT_MS", "needs 80000 ms")],
    );
    assert_eq!(run(&["config", "check"], &window("80000")).code, 0);
    let fast = with(
        window("16000"),
        &[
            (
                "STELLAR_NETWORK_PASSPHRASE",
                "Standalone Network ; February 2017",
            ),
            ("STELLAR_LEDGER_CLOSE_MS", "1000"),
            ("STELLAR_RPC_TIMEOUT_MS", "10000"),
        ],
    );
    assert_eq!(run(&["config", "check"], &fast).code, 0);
    let slower = with(fast, &[("STELLAR_LEDGER_CLOSE_MS", "1001")]);
    assert_faults(
        "reconciler",
        &slower,
        &[("TX_CONFIRMATION_TIMEOUT_MS", "needs 16016 ms")],
    );
}

#[test]
fn a_known_network_closes_ledgers_at_its_own_pace() {
    let config = with(valid(), &[("STELLAR_LEDGER_CLOSE_MS", "1000")]);
    let said = "contradicts STELLAR_NETWORK_PASSPHRASE";
    assert_faults("all", &config, &[("STELLAR_LEDGER_CLOSE_MS", said)]);
}

#[test]
fn limits_fit_one_another() {
    let changes = [
        ("TX_CONFIRMATION_TIMEOUT_MS", "80000"),
        ("STELLAR_RPC_TIMEOUT_MS", "80000"),
        ("OUTBOX_BACKOFF_BASE_MS", "5000"),
        ("OUTBOX_BACKOFF_MAX_MS", "4999"),
        ("OUTBOX_MAX_ABS_FEE", "1000"),
        ("FEE_ORACLE_DEFAULT_BASE_FEE", "501"),
        ("QUEUE_WINDOW", "10"),
        ("QUEUE_CONCURRENCY", "11"),
        ("HTTP_CORS_ORIGINS", "*,https://shop.example"),
    ];
    let faults = [
        (
            "STELLAR_RPC_TIMEOUT_MS",
            "contradicts TX_CONFIRMATION_TIMEOUT_MS",
        ),
        (
            "OUTBOX_BACKOFF_BASE_MS",
            "contradicts OUTBOX_BACKOFF_MAX_MS",
        ),
        (
            "OUTBOX_MAX_ABS_FEE",
            "contradicts FEE_ORACLE_DEFAULT_BASE_FEE",
        ),
        ("QUEUE_CONCURRENCY", "contradicts QUEUE_WINDOW"),
        ("HTTP_CORS_ORIGINS", "lists `*` beside other origins"),
    ];
    assert_faults("all", &with(valid(), &changes), &faults);
}

#[test]
fn the_reconciler_runs_while_envelopes_live() {
    let changes = [
        (
            "STELLAR_NETWORK_PASSPHRASE",
            "Standalone Network ; February 2017",
        ),
        ("STELLAR_LEDGER_CLOSE_MS", "1000"),
        ("TX_CONFIRMATION_TIMEOUT_MS", "30000"),
        ("RECONCILER_INTERVAL_MS", "30000"),
    ];
    let said = "contradicts TX_CONFIRMATION_TIMEOUT_MS";
    assert_faults(
        "all",
        &with(valid(), &changes),
        &[("RECONCILER_INTERVAL_MS", said)],
    );
}
