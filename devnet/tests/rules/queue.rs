//! Rules of the queue that one recorded scenario alone does not pin down.

use crate::common::{
    Key, LUMEN, World, bumped, config, operation, pay, refusal, root, signed, transaction,
};
use stellar_xdr::{
    OperationBody, OperationType, Preconditions, TimeBounds, TimePoint, Transaction,
    TransactionEnvelope,
};
use tender_devnet::config::NetworkConfig;
use tender_devnet::network::SubmitStatus;

fn plain(tx: &Transaction, key: &Key) -> TransactionEnvelope {
    TransactionEnvelope::Tx(signed(tx, &[key]))
}

/// A network of `accounts` with 100 lumens each, whose ledgers take `max_ops` operations.
fn crowd(accounts: usize, max_ops: u32) -> (World, Vec<Key>) {
    let keys: Vec<Key> = (0..accounts)
        .map(|i| Key::named(&format!("crowd {i}")))
        .collect();
    let funded: Vec<(&Key, i64)> = keys.iter().map(|key| (key, 100 * LUMEN)).collect();
    let config = NetworkConfig {
        max_tx_set_ops: max_ops,
        ..config()
    };
    (World::with_accounts(config, &funded), keys)
}

fn payment(world: &World, key: &Key, fee: u32) -> Transaction {
    transaction(key, world.next_sequence(key), fee, vec![pay(&root(), 1)])
}

#[test]
fn operations_without_rules_are_filtered_and_never_invented() {
    let (mut world, keys) = crowd(1, 10);
    let operations = vec![pay(&root(), 1), operation(OperationBody::Inflation)];
    let tx = transaction(&keys[0], world.next_sequence(&keys[0]), 200, operations);
    let answer = world.submit(&plain(&tx, &keys[0]));
    assert_eq!(answer, SubmitStatus::Filtered(OperationType::Inflation));
    assert_eq!(world.network.pending(), 0);
    assert!(world.close().transactions.is_empty());
}

#[test]
fn a_replacement_inherits_the_age() {
    let (mut world, keys) = crowd(2, 4);
    // More operations than a ledger takes, fewer than the queue: it waits for ever.
    let many = vec![pay(&root(), 1); 5];
    let tx = transaction(&keys[0], world.next_sequence(&keys[0]), 500, many);
    world.submit_ok(&plain(&tx, &keys[0]));
    world.close();
    world.close();
    let inner = signed(&tx, &[&keys[0]]);
    let outer = bumped(&inner, &keys[1], 6000);
    world.submit_ok(&outer);
    world.close();
    assert_eq!(world.submit(&outer), SubmitStatus::Duplicate);
    world.close();
    assert_eq!(world.submit(&outer), SubmitStatus::TryAgainLater);
    assert_eq!(world.network.pending(), 0);
}

#[test]
fn evicted_and_refused_envelopes_are_banned_for_ten_ledgers() {
    let (mut world, keys) = crowd(5, 5);
    let five = |world: &World, key: &Key, fee| {
        let operations = vec![pay(&root(), 1); 5];
        transaction(key, world.next_sequence(key), fee, operations)
    };
    let (cheap, middle) = (five(&world, &keys[0], 500), five(&world, &keys[1], 1000));
    world.submit_ok(&plain(&cheap, &keys[0]));
    world.submit_ok(&plain(&middle, &keys[1]));
    let refused = payment(&world, &keys[2], 100);
    let status = world.submit(&plain(&refused, &keys[2]));
    let SubmitStatus::Error(result) = &status else {
        panic!("{status:?}")
    };
    assert_eq!(result.fee_charged, 101);
    let rich = payment(&world, &keys[3], 101);
    world.submit_ok(&plain(&rich, &keys[3]));
    for _ in 0..10 {
        assert_eq!(
            world.submit(&plain(&cheap, &keys[0])),
            SubmitStatus::TryAgainLater
        );
        assert_eq!(
            world.submit(&plain(&refused, &keys[2])),
            SubmitStatus::TryAgainLater
        );
        world.close();
    }
    world.submit_ok(&plain(&cheap, &keys[0]));
    world.submit_ok(&plain(&refused, &keys[2]));
}

#[test]
fn after_an_eviction_its_rate_is_the_floor_until_the_next_close() {
    let (mut world, keys) = crowd(5, 2);
    for (key, fee) in keys[..4].iter().zip([300, 400, 500, 600]) {
        let tx = payment(&world, key, fee);
        world.submit_ok(&plain(&tx, key));
    }
    let better = payment(&world, &keys[4], 700);
    world.submit_ok(&plain(&better, &keys[4]));
    let root_tx = payment(&world, &root(), 400);
    assert_eq!(
        refusal(&world.submit(&plain(&root_tx, &root()))),
        "TxInsufficientFee"
    );
    world.close();
    let minimum = payment(&world, &root(), 100);
    world.submit_ok(&plain(&minimum, &root()));
}

#[test]
fn left_out_by_the_next_close_time_is_banned_from_the_ledger_before() {
    let (mut world, keys) = crowd(1, 10);
    let mut tx = payment(&world, &keys[0], 100);
    let last = world.network.latest_close_time();
    tx.cond = Preconditions::Time(TimeBounds {
        min_time: TimePoint(0),
        max_time: TimePoint(last + 10),
    });
    world.submit_ok(&plain(&tx, &keys[0]));
    assert!(world.network.close(last + 11).transactions.is_empty());
    for _ in 0..8 {
        world.network.close(world.network.latest_close_time() + 1);
        let status = world.submit(&plain(&tx, &keys[0]));
        assert_eq!(status, SubmitStatus::TryAgainLater);
    }
    world.network.close(world.network.latest_close_time() + 1);
    let status = world.submit(&plain(&tx, &keys[0]));
    assert_eq!(refusal(&status), "TxTooLate");
}

#[test]
fn bids_one_payer_can_no_longer_pay_together_are_all_dropped() {
    let (mut world, keys) = crowd(3, 4);
    let payer = &keys[2];
    let bumps: Vec<TransactionEnvelope> = keys[..2]
        .iter()
        .map(|key| bumped(&signed(&payment(&world, key, 0), &[key]), payer, 40 * LUMEN))
        .collect();
    for bump in &bumps {
        world.submit_ok(bump);
    }
    // A better bid takes the whole ledger, and half of what the payer has.
    let mut operations = vec![pay(&root(), 1); 4];
    operations[0] = pay(&root(), 50 * LUMEN);
    operations[0].source_account = Some(payer.muxed());
    let bid = u32::try_from(4 * 21 * LUMEN).unwrap();
    let better = transaction(&root(), world.next_sequence(&root()), bid, operations);
    let better = signed(&better, &[&root(), payer]);
    world.submit_ok(&TransactionEnvelope::Tx(better));
    let ledger = world.close();
    assert_eq!(ledger.transactions.len(), 1);
    assert!(ledger.transactions[0].is_success());
    assert_eq!(world.network.pending(), 0);
    for bump in &bumps {
        assert_eq!(world.submit(bump), SubmitStatus::TryAgainLater);
    }
}

#[test]
fn with_a_drifting_clock_an_envelope_expires_earlier() {
    let (mut world, keys) = crowd(1, 10);
    let mut tx = payment(&world, &keys[0], 100);
    let last = world.network.latest_close_time();
    tx.cond = Preconditions::Time(TimeBounds {
        min_time: TimePoint(0),
        max_time: TimePoint(last + 12),
    });
    world.network.set_drift(3);
    assert_eq!(refusal(&world.submit(&plain(&tx, &keys[0]))), "TxTooLate");
    world.network.set_drift(2);
    world.submit_ok(&plain(&tx, &keys[0]));
}
