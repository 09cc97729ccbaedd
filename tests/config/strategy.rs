//! How submissions get their sequence numbers, and what that asks of the channel accounts.

use super::program::{assert_faults, valid, with};
use tender::config::{SequenceStrategy, Source, WorkerConfig};

fn strategy(changes: &[(&str, &str)]) -> (SequenceStrategy, usize) {
    let source = Source::from_pairs(with(valid(), changes));
    let signers = WorkerConfig::load(&source).unwrap().signers;
    (signers.strategy, signers.channels.count())
}

#[test]
fn submissions_lease_channel_accounts_unless_told_to_share_one() {
    let serialized = ("SEQUENCE_STRATEGY", "serialized");
    let listed = [
        serialized,
        ("STELLAR_CHANNEL_SEED", ""),
        ("STELLAR_CHANNEL_ACCOUNTS", "{key2}"),
    ];
    assert_eq!(strategy(&[]), (SequenceStrategy::Channels, 20));
    let named = strategy(&[("SEQUENCE_STRATEGY", "channels")]);
    assert_eq!(named, (SequenceStrategy::Channels, 20));
    let one = (SequenceStrategy::Serialized, 1);
    assert_eq!(strategy(&[serialized]), one);
    assert_eq!(strategy(&[serialized, ("STELLAR_CHANNEL_COUNT", "1")]), one);
    assert_eq!(strategy(&listed), one);
}

#[test]
fn there_is_one_account_to_share() {
    let serialized = with(valid(), &[("SEQUENCE_STRATEGY", "serialized")]);
    let counted = with(serialized.clone(), &[("STELLAR_CHANNEL_COUNT", "2")]);
    assert_faults(
        "all",
        &counted,
        &[("STELLAR_CHANNEL_COUNT", "exactly one channel account")],
    );
    let listed = [
        ("STELLAR_CHANNEL_SEED", ""),
        ("STELLAR_CHANNEL_ACCOUNTS", "{key2},{key3}"),
    ];
    assert_faults(
        "worker",
        &with(serialized, &listed),
        &[("STELLAR_CHANNEL_ACCOUNTS", "exactly one channel account")],
    );
}

#[test]
fn another_strategy_is_refused() {
    let unknown = with(valid(), &[("SEQUENCE_STRATEGY", "hopeful")]);
    assert_faults(
        "all",
        &unknown,
        &[("SEQUENCE_STRATEGY", "must be channels or serialized")],
    );
}
