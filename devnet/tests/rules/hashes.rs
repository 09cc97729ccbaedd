//! Hashes and keys are the real ones, and stay the same whatever form an envelope comes in.

use crate::common::{
    Key, LUMEN, World, bumped, config, pay, root, sha256, signed, transaction, tx_hash,
};
use stellar_strkey::ed25519;
use stellar_xdr::{
    AccountId, Limits, PublicKey, TransactionEnvelope, TransactionV0, TransactionV0Envelope,
    TransactionV0Ext, Uint256, WriteXdr,
};
use tender_devnet::config::NetworkConfig;
use tender_devnet::network::SubmitStatus;

#[test]
fn the_root_account_derives_from_the_passphrase() {
    let config = NetworkConfig::development("Standalone Network ; February 2017");
    let AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(key))) = config.root_account();
    assert_eq!(
        ed25519::PublicKey(key).to_string(),
        "GBZXN7PIRZGNMHGA7MUUUF4GWPY5AYPV6LY4UV2GL6VJGIQRXFDNMADI"
    );
}

#[test]
fn version_0_envelopes_have_the_hash_of_version_1() {
    let mut world = World::new(config());
    let tx = transaction(&root(), 1, 100, vec![pay(&root(), 1)]);
    let v1 = signed(&tx, &[&root()]);
    let v0 = TransactionEnvelope::TxV0(TransactionV0Envelope {
        tx: TransactionV0 {
            source_account_ed25519: Uint256(root().public()),
            fee: tx.fee,
            seq_num: tx.seq_num.clone(),
            time_bounds: None,
            memo: tx.memo.clone(),
            operations: tx.operations.clone(),
            ext: TransactionV0Ext::V0,
        },
        signatures: v1.signatures.clone(),
    });
    let bytes = v0.to_xdr(Limits::none()).unwrap();
    let answer = world.network.submit(&bytes).unwrap();
    assert_eq!(answer.hash, tx_hash(&tx));
    assert_eq!(answer.status, SubmitStatus::Pending);
    // Converted, it is the version 1 envelope byte for byte.
    assert_eq!(
        world.submit(&TransactionEnvelope::Tx(v1)),
        SubmitStatus::Duplicate
    );
}

#[test]
fn a_transaction_is_found_by_both_hashes_until_the_window_passes() {
    let mut world = World::new(NetworkConfig {
        history_window: 3,
        ..config()
    });
    let tx = transaction(&root(), 1, 100, vec![pay(&root(), 1)]);
    let outer = bumped(&signed(&tx, &[&root()]), &root(), 400);
    let bytes = outer.to_xdr(Limits::none()).unwrap();
    let hash = world.network.submit(&bytes).unwrap().hash;
    assert_eq!(world.network.find_transaction(&hash), None);
    world.close();
    assert_eq!(world.network.find_transaction(&hash), Some((11, 0)));
    assert_eq!(world.network.find_transaction(&tx_hash(&tx)), Some((11, 0)));
    world.close();
    world.close();
    assert_eq!(world.network.find_transaction(&hash), Some((11, 0)));
    world.close();
    assert_eq!(world.network.find_transaction(&hash), None);
    assert_eq!(world.network.find_transaction(&tx_hash(&tx)), None);
    assert_eq!(world.network.ledgers().count(), 3);
    assert!(world.network.ledger(11).is_none());
    assert_eq!(world.network.ledger(14).unwrap().sequence(), 14);
}

#[test]
fn headers_form_a_chain() {
    let alice = Key::named("alice");
    let mut world = World::with_accounts(config(), &[(&alice, 10 * LUMEN)]);
    world.close();
    let ledgers: Vec<_> = world.network.ledgers().collect();
    for pair in ledgers.windows(2) {
        assert_eq!(pair[1].header.previous_ledger_hash, pair[0].hash);
        let header = pair[1].header.to_xdr(Limits::none()).unwrap();
        assert_eq!(pair[1].hash, sha256(&[&header]));
        let set = pair[1].transaction_set().to_xdr(Limits::none()).unwrap();
        assert_eq!(pair[1].header.scp_value.tx_set_hash, sha256(&[&set]));
    }
}

#[test]
fn the_same_history_gives_the_same_hashes() {
    let build = || {
        let alice = Key::named("alice");
        let mut world = World::with_accounts(config(), &[(&alice, 10 * LUMEN)]);
        let tx = transaction(
            &alice,
            world.next_sequence(&alice),
            100,
            vec![pay(&root(), 7)],
        );
        world.submit_ok(&TransactionEnvelope::Tx(signed(&tx, &[&alice])));
        world.close().hash.clone()
    };
    assert_eq!(build(), build());
}
