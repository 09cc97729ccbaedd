//! Reserves and sequence numbers at their edges.

use crate::common::{
    Key, LUMEN, World, code, config, create, operation, pay, refusal, root, signed, transaction,
};
use stellar_xdr::{
    AlphaNum4, AssetCode4, BumpSequenceOp, ChangeTrustAsset, ChangeTrustOp, Operation,
    OperationBody, SequenceNumber, Transaction, TransactionEnvelope,
};
use tender_devnet::network::SubmitStatus;

/// Two base reserves, in stroops.
const ACCOUNT: i64 = LUMEN;

fn apply(world: &mut World, tx: &Transaction, key: &Key) -> (String, i64) {
    world.submit_ok(&TransactionEnvelope::Tx(signed(tx, &[key])));
    let ledger = world.close();
    let applied = &ledger.transactions[0];
    (code(&applied.result).to_owned(), applied.fee_charged())
}

fn next(world: &World, key: &Key, operation: Operation) -> Transaction {
    transaction(key, world.next_sequence(key), 100, vec![operation])
}

fn trust(issuer: &Key, limit: i64) -> Operation {
    operation(OperationBody::ChangeTrust(ChangeTrustOp {
        line: ChangeTrustAsset::CreditAlphanum4(AlphaNum4 {
            asset_code: AssetCode4(*b"USDC"),
            issuer: issuer.id(),
        }),
        limit,
    }))
}

#[test]
fn all_above_reserve_and_fee_can_be_spent_and_not_a_stroop_more() {
    let (alice, bob) = (Key::named("alice"), Key::named("bob"));
    let mut world = World::with_accounts(config(), &[(&alice, 3 * LUMEN), (&bob, 3 * LUMEN)]);
    let over = next(&world, &alice, pay(&root(), 2 * LUMEN - 100 + 1));
    assert_eq!(apply(&mut world, &over, &alice).0, "TxFailed");
    let all = next(&world, &alice, pay(&root(), 2 * LUMEN - 200));
    assert_eq!(apply(&mut world, &all, &alice).0, "TxSuccess");
    assert_eq!(world.account(&alice).balance, ACCOUNT);
    // What is left is the reserve, which pays no fee.
    let more = next(&world, &alice, pay(&root(), 1));
    assert_eq!(
        refusal(&world.submit_tx(&more, &[&alice])),
        "TxInsufficientBalance"
    );
}

#[test]
fn a_trustline_costs_a_reserve_and_gives_it_back() {
    let (alice, issuer) = (Key::named("alice"), Key::named("issuer"));
    let half = LUMEN / 2;
    let mut world = World::with_accounts(
        config(),
        &[(&alice, ACCOUNT + half + 199), (&issuer, 3 * LUMEN)],
    );
    let open = next(&world, &alice, trust(&issuer, 5));
    assert_eq!(apply(&mut world, &open, &alice).0, "TxSuccess");
    assert_eq!(world.account(&alice).num_sub_entries, 1);
    let again = next(&world, &alice, pay(&root(), 1));
    assert_eq!(
        refusal(&world.submit_tx(&again, &[&alice])),
        "TxInsufficientBalance"
    );
    let gift = next(&world, &root(), pay(&alice, 101));
    assert_eq!(apply(&mut world, &gift, &root()).0, "TxSuccess");
    let close = next(&world, &alice, trust(&issuer, 0));
    assert_eq!(apply(&mut world, &close, &alice).0, "TxSuccess");
    assert_eq!(world.account(&alice).num_sub_entries, 0);
    let spend = next(&world, &alice, pay(&root(), half));
    assert_eq!(world.submit_tx(&spend, &[&alice]), SubmitStatus::Pending);
}

#[test]
fn a_new_account_needs_two_reserves_and_starts_at_its_ledger() {
    let alice = Key::named("alice");
    let mut world = World::new(config());
    let poor = next(&world, &root(), create(&alice, ACCOUNT - 1));
    assert_eq!(
        apply(&mut world, &poor, &root()),
        ("TxFailed".to_owned(), 100)
    );
    assert!(world.network.entry(&alice.entry_key()).is_none());
    let right = next(&world, &root(), create(&alice, ACCOUNT));
    assert_eq!(apply(&mut world, &right, &root()).0, "TxSuccess");
    let ledger = i64::from(world.network.latest_ledger());
    assert_eq!(world.account(&alice).seq_num.0, ledger << 32);
}

#[test]
fn a_failed_transaction_uses_its_sequence_number_and_a_refused_one_does_not() {
    let alice = Key::named("alice");
    let mut world = World::with_accounts(config(), &[(&alice, 10 * LUMEN)]);
    let first = world.next_sequence(&alice);
    let refused = transaction(&alice, first + 1, 100, vec![pay(&root(), 1)]);
    assert_eq!(refusal(&world.submit_tx(&refused, &[&alice])), "TxBadSeq");
    assert_eq!(world.next_sequence(&alice), first);
    let failing = next(&world, &alice, pay(&Key::named("nobody"), 1));
    assert_eq!(
        apply(&mut world, &failing, &alice),
        ("TxFailed".to_owned(), 100)
    );
    assert_eq!(world.next_sequence(&alice), first + 1);
    assert_eq!(world.account(&alice).balance, 10 * LUMEN - 100);
}

#[test]
fn no_transaction_may_use_the_number_accounts_of_its_ledger_start_with() {
    let alice = Key::named("alice");
    let mut world = World::with_accounts(config(), &[(&alice, 10 * LUMEN)]);
    let start =
        |ledgers: i64, world: &World| (i64::from(world.network.latest_ledger()) + ledgers) << 32;
    // After the bump's own ledger the next one is the forbidden one.
    let bump_to = start(2, &world) - 1;
    let bump = next(
        &world,
        &alice,
        operation(OperationBody::BumpSequence(BumpSequenceOp {
            bump_to: SequenceNumber(bump_to),
        })),
    );
    assert_eq!(apply(&mut world, &bump, &alice).0, "TxSuccess");
    let tx = next(&world, &alice, pay(&root(), 1));
    assert_eq!(tx.seq_num.0, start(1, &world));
    assert_eq!(refusal(&world.submit_tx(&tx, &[&alice])), "TxBadSeq");
    world.close();
    assert_eq!(world.submit_tx(&tx, &[&alice]), SubmitStatus::Pending);
}
