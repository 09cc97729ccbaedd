//! Signers of every kind, extra signers, weights and one-time signers.

use crate::common::{
    Key, LUMEN, World, bumped, config, operation, pay, refusal, root, sha256, signed, transaction,
    tx_hash,
};
use ed25519_dalek::Signer as _;
use stellar_xdr::{
    DecoratedSignature, Duration, Operation, OperationBody, Preconditions, PreconditionsV2,
    SetOptionsOp, Signature, SignatureHint, Signer, SignerKey, SignerKeyEd25519SignedPayload,
    TransactionEnvelope, Uint256,
};
use tender_devnet::network::SubmitStatus;

fn options() -> SetOptionsOp {
    SetOptionsOp {
        inflation_dest: None,
        clear_flags: None,
        set_flags: None,
        master_weight: None,
        low_threshold: None,
        med_threshold: None,
        high_threshold: None,
        home_domain: None,
        signer: None,
    }
}

fn add_signer(key: SignerKey, weight: u32) -> Operation {
    operation(OperationBody::SetOptions(SetOptionsOp {
        signer: Some(Signer { key, weight }),
        ..options()
    }))
}

/// Alice's account, with a ledger closed around each setting.
fn alice_with(operations: Vec<Operation>) -> (World, Key) {
    let alice = Key::named("alice");
    let mut world = World::with_accounts(config(), &[(&alice, 100 * LUMEN)]);
    let fee = 100 * u32::try_from(operations.len()).unwrap();
    let tx = transaction(&alice, world.next_sequence(&alice), fee, operations);
    assert_eq!(world.submit_tx(&tx, &[&alice]), SubmitStatus::Pending);
    assert!(world.close().transactions[0].is_success());
    (world, alice)
}

fn with_signatures(
    tx: &stellar_xdr::Transaction,
    all: Vec<DecoratedSignature>,
) -> TransactionEnvelope {
    let mut envelope = signed(tx, &[]);
    envelope.signatures = all.try_into().unwrap();
    TransactionEnvelope::Tx(envelope)
}

fn hint(bytes: &[u8]) -> SignatureHint {
    SignatureHint(bytes[bytes.len() - 4..].try_into().unwrap())
}

#[test]
fn a_hash_signer_signs_with_its_preimage() {
    let secret = b"open sesame";
    let hash = sha256(&[secret]);
    let (mut world, alice) = alice_with(vec![add_signer(SignerKey::HashX(Uint256(hash.0)), 1)]);
    let tx = transaction(
        &alice,
        world.next_sequence(&alice),
        100,
        vec![pay(&root(), 1)],
    );
    let preimage = |bytes: &[u8]| DecoratedSignature {
        hint: hint(&hash.0),
        signature: Signature(bytes.to_vec().try_into().unwrap()),
    };
    let wrong = world.submit(&with_signatures(&tx, vec![preimage(b"open barley")]));
    assert_eq!(refusal(&wrong), "TxBadAuth");
    world.submit_ok(&with_signatures(&tx, vec![preimage(secret)]));
    assert!(world.close().transactions[0].is_success());
}

#[test]
fn a_pre_authorised_transaction_needs_no_signature_and_works_once() {
    let alice = Key::named("alice");
    let mut world = World::with_accounts(config(), &[(&alice, 100 * LUMEN)]);
    let sequence = world.next_sequence(&alice);
    let tx = transaction(&alice, sequence + 1, 100, vec![pay(&root(), 1)]);
    let key = SignerKey::PreAuthTx(Uint256(tx_hash(&tx).0));
    let allow = transaction(&alice, sequence, 100, vec![add_signer(key, 1)]);
    assert_eq!(world.submit_tx(&allow, &[&alice]), SubmitStatus::Pending);
    world.close();
    assert_eq!(world.account(&alice).signers.len(), 1);
    assert_eq!(world.account(&alice).num_sub_entries, 1);
    let unsigned = with_signatures(&tx, Vec::new());
    world.submit_ok(&unsigned);
    assert!(world.close().transactions[0].is_success());
    assert_eq!(world.account(&alice).signers.len(), 0);
    assert_eq!(world.account(&alice).num_sub_entries, 0);
}

#[test]
fn a_signed_payload_signer_signs_its_payload() {
    let bob = Key::named("bob");
    let payload = b"I agree".to_vec();
    let key = SignerKey::Ed25519SignedPayload(SignerKeyEd25519SignedPayload {
        ed25519: Uint256(bob.public()),
        payload: payload.clone().try_into().unwrap(),
    });
    let (mut world, alice) = alice_with(vec![add_signer(key, 1)]);
    let tx = transaction(
        &alice,
        world.next_sequence(&alice),
        100,
        vec![pay(&root(), 1)],
    );
    let mut hint = hint(&bob.public());
    for (byte, mask) in hint.0.iter_mut().zip(&payload[payload.len() - 4..]) {
        *byte ^= mask;
    }
    let signature = bob.0.sign(&payload).to_bytes().to_vec();
    world.submit_ok(&with_signatures(
        &tx,
        vec![DecoratedSignature {
            hint,
            signature: Signature(signature.try_into().unwrap()),
        }],
    ));
    assert!(world.close().transactions[0].is_success());
}

#[test]
fn extra_signers_must_all_have_signed() {
    let (alice, bob) = (Key::named("alice"), Key::named("bob"));
    let mut world = World::with_accounts(config(), &[(&alice, 100 * LUMEN)]);
    let sequence = world.next_sequence(&alice);
    let mut tx = transaction(&alice, sequence, 100, vec![pay(&root(), 1)]);
    let conditions = |extra: Vec<SignerKey>| {
        Preconditions::V2(PreconditionsV2 {
            time_bounds: None,
            ledger_bounds: None,
            min_seq_num: None,
            min_seq_age: Duration(0),
            min_seq_ledger_gap: 0,
            extra_signers: extra.try_into().unwrap(),
        })
    };
    let bobs = SignerKey::Ed25519(Uint256(bob.public()));
    tx.cond = conditions(vec![bobs.clone(), bobs.clone()]);
    let twice = world.submit_tx(&tx, &[&alice, &bob]);
    assert_eq!(refusal(&twice), "TxMalformed");
    tx.cond = conditions(vec![bobs]);
    assert_eq!(refusal(&world.submit_tx(&tx, &[&alice])), "TxBadAuth");
    assert_eq!(world.submit_tx(&tx, &[&alice, &bob]), SubmitStatus::Pending);
    assert!(world.close().transactions[0].is_success());
}

#[test]
fn weights_add_up_to_the_threshold() {
    let bob = Key::named("bob");
    let thresholds = operation(OperationBody::SetOptions(SetOptionsOp {
        med_threshold: Some(3),
        high_threshold: Some(3),
        ..options()
    }));
    let bobs = SignerKey::Ed25519(Uint256(bob.public()));
    let (mut world, alice) = alice_with(vec![add_signer(bobs, 2), thresholds]);
    let tx = transaction(
        &alice,
        world.next_sequence(&alice),
        100,
        vec![pay(&root(), 1)],
    );
    let alone = world.submit_tx(&tx, &[&alice]);
    let SubmitStatus::Error(result) = &alone else {
        panic!("{alone:?}")
    };
    assert_eq!(crate::common::code(result), "TxFailed");
    assert_eq!(world.submit_tx(&tx, &[&alice, &bob]), SubmitStatus::Pending);
}

#[test]
fn a_fee_bump_needs_its_payers_signature() {
    let (alice, bob) = (Key::named("alice"), Key::named("bob"));
    let mut world = World::with_accounts(config(), &[(&alice, 100 * LUMEN), (&bob, 100 * LUMEN)]);
    let tx = transaction(
        &alice,
        world.next_sequence(&alice),
        0,
        vec![pay(&root(), 1)],
    );
    let inner = signed(&tx, &[&alice]);
    let TransactionEnvelope::TxFeeBump(right) = bumped(&inner, &bob, 200) else {
        unreachable!("a fee-bump was built")
    };
    let TransactionEnvelope::TxFeeBump(mut wrong) = bumped(&inner, &alice, 200) else {
        unreachable!("a fee-bump was built")
    };
    wrong.tx = right.tx.clone();
    let status = world.submit(&TransactionEnvelope::TxFeeBump(wrong));
    assert_eq!(refusal(&status), "TxBadAuth");
    world.submit_ok(&TransactionEnvelope::TxFeeBump(right));
    assert_eq!(world.close().transactions[0].fee_charged(), 200);
}
