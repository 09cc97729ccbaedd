//! Whatever is sent: no lumen appears or vanishes, sequence numbers move by what the ledger says, nobody goes below
//! zero or, by an own payment, below the reserve.

use crate::common::{Key, LUMEN, World, bumped, config, create, pay, signed, transaction};
use proptest::prelude::*;
use std::collections::BTreeMap;
use stellar_xdr::{LedgerEntryData, MuxedAccount, Operation, OperationBody, TransactionEnvelope};
use tender_devnet::config::NetworkConfig;

const NAMES: usize = 6;

#[derive(Clone, Debug)]
enum Act {
    /// Source, bid, sequence offset, operations, payer of a fee-bump with its bid.
    Send(usize, u32, i64, Vec<(usize, Move)>, Option<(usize, i64)>),
    Close,
}

#[derive(Clone, Debug)]
enum Move {
    Pay(usize, i64),
    Create(usize, i64),
    Merge(usize),
}

fn moves() -> impl Strategy<Value = Move> {
    let amount = prop_oneof![0..40 * LUMEN, Just(i64::MAX), Just(1)];
    prop_oneof![
        4 => (0..NAMES, amount.clone()).prop_map(|(to, amount)| Move::Pay(to, amount)),
        2 => (0..NAMES, amount).prop_map(|(to, amount)| Move::Create(to, amount)),
        1 => (0..NAMES).prop_map(Move::Merge),
    ]
}

fn acts() -> impl Strategy<Value = Act> {
    let operations = prop::collection::vec((0..NAMES, moves()), 0..4);
    let bump = prop::option::of((0..NAMES, -1..3000_i64));
    let offset = prop_oneof![8 => Just(1_i64), 1 => 0..4_i64];
    let send = (0..NAMES, 0..2000_u32, offset, operations, bump);
    prop_oneof![
        4 => send.prop_map(|(s, fee, seq, ops, bump)| Act::Send(s, fee, seq, ops, bump)),
        1 => Just(Act::Close),
    ]
}

fn operation_of(keys: &[Key], by: usize, source: usize, what: &Move) -> Operation {
    let mut operation = match what {
        Move::Pay(to, amount) => pay(&keys[*to], *amount),
        Move::Create(to, amount) => create(&keys[*to], *amount),
        Move::Merge(to) => crate::common::operation(OperationBody::AccountMerge(keys[*to].muxed())),
    };
    operation.source_account = (by != source).then(|| keys[by].muxed());
    operation
}

fn envelope(world: &World, keys: &[Key], act: &Act) -> Option<TransactionEnvelope> {
    let Act::Send(source, fee, offset, operations, bump) = act else {
        return None;
    };
    let current = match &world.network.entry(&keys[*source].entry_key())?.data {
        LedgerEntryData::Account(account) => account.seq_num.0,
        _ => return None,
    };
    let mut signers = vec![*source];
    signers.extend(operations.iter().map(|(by, _)| *by));
    signers.sort_unstable();
    signers.dedup();
    let signers: Vec<&Key> = signers.iter().map(|index| &keys[*index]).collect();
    let operations: Vec<Operation> = operations
        .iter()
        .map(|(by, what)| operation_of(keys, *by, *source, what))
        .collect();
    let tx = transaction(&keys[*source], current + offset, *fee, operations);
    let inner = signed(&tx, &signers);
    Some(match bump {
        None => TransactionEnvelope::Tx(inner),
        Some((payer, fee)) => bumped(&inner, &keys[*payer], *fee),
    })
}

fn sequences(world: &World) -> BTreeMap<Vec<u8>, i64> {
    world
        .network
        .entries()
        .filter_map(|entry| match &entry.data {
            LedgerEntryData::Account(account) => {
                assert!(account.balance >= 0);
                let MuxedAccount::Ed25519(key) = account.account_id.clone().into() else {
                    return None;
                };
                Some((key.0.to_vec(), account.seq_num.0))
            }
            _ => None,
        })
        .collect()
}

fn check_close(world: &mut World) {
    let before = sequences(world);
    let total = world.lumens();
    let ledger = world.close().clone();
    assert_eq!(world.lumens(), total, "lumens appeared or vanished");
    let after = sequences(world);
    for (key, sequence) in &before {
        let moved = ledger.transactions.iter().filter(|tx| {
            let TransactionEnvelope::Tx(tx) = inner(&tx.envelope) else {
                return false;
            };
            matches!(&tx.tx.source_account, MuxedAccount::Ed25519(k) if k.0.as_slice() == key)
        });
        let count = moved.count();
        assert!(count <= 1, "two transactions of one source in a ledger");
        // A merged account is gone, one made again starts at its ledger; others move by their transaction.
        let fresh = i64::from(ledger.sequence()) << 32;
        match after.get(key) {
            Some(now) if *now < fresh => {
                assert!(*now == *sequence || (count == 1 && *now == *sequence + 1));
            }
            Some(_) | None => {}
        }
    }
}

fn inner(envelope: &TransactionEnvelope) -> TransactionEnvelope {
    match envelope {
        TransactionEnvelope::TxFeeBump(outer) => {
            let stellar_xdr::FeeBumpTransactionInnerTx::Tx(tx) = &outer.tx.inner_tx;
            TransactionEnvelope::Tx(tx.clone())
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn lumens_and_sequences_are_conserved(acts in prop::collection::vec(acts(), 1..60), max_ops in 2..12_u32) {
        let keys: Vec<Key> = (0..NAMES).map(|i| Key::named(&format!("key {i}"))).collect();
        let funded: Vec<(&Key, i64)> = keys[..4].iter().map(|k| (k, 30 * LUMEN)).collect();
        let mut world = World::with_accounts(
            NetworkConfig { max_tx_set_ops: max_ops.max(4), ..config() },
            &funded,
        );
        let total = world.lumens();
        prop_assert_eq!(total, 100_000_000_000 * LUMEN);
        for act in &acts {
            match envelope(&world, &keys, act) {
                Some(envelope) => { let _ = world.submit(&envelope); }
                None => check_close(&mut world),
            }
        }
        check_close(&mut world);
        prop_assert_eq!(world.lumens(), total);
    }
}
