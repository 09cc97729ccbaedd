//! Conditions on the sequence number a transaction uses: how old, and how many ledgers ago.

use crate::common::{Key, LUMEN, START, World, config, pay, refusal, root, transaction};
use stellar_xdr::{Duration, Preconditions, PreconditionsV2, SequenceNumber, Transaction};
use tender_devnet::network::SubmitStatus;

fn conditional(world: &World, alice: &Key, change: fn(&mut PreconditionsV2)) -> Transaction {
    let mut conditions = PreconditionsV2 {
        time_bounds: None,
        ledger_bounds: None,
        min_seq_num: None,
        min_seq_age: Duration(0),
        min_seq_ledger_gap: 0,
        extra_signers: Vec::new().try_into().unwrap(),
    };
    change(&mut conditions);
    let sequence = world.next_sequence(alice);
    let mut tx = transaction(alice, sequence, 100, vec![pay(&root(), 1)]);
    tx.cond = Preconditions::V2(conditions);
    tx
}

/// An account that used its first sequence number in ledger 12, which closed at START + 10.
fn used() -> (World, Key) {
    let alice = Key::named("alice");
    let mut world = World::with_accounts(config(), &[(&alice, 100 * LUMEN)]);
    let tx = conditional(&world, &alice, |_| {});
    assert_eq!(world.submit_tx(&tx, &[&alice]), SubmitStatus::Pending);
    assert!(world.close().transactions[0].is_success());
    assert_eq!(world.network.latest_ledger(), 12);
    assert_eq!(world.network.latest_close_time(), START + 10);
    (world, alice)
}

/// Ledgers that close before a transaction is taken, which must then be applied.
fn ledgers_until_taken(change: fn(&mut PreconditionsV2)) -> usize {
    let (mut world, alice) = used();
    let tx = conditional(&world, &alice, change);
    for closed in 0..20 {
        match world.submit_tx(&tx, &[&alice]) {
            SubmitStatus::Pending => {
                assert!(world.close().transactions[0].is_success());
                return closed;
            }
            refused => assert_eq!(refusal(&refused), "TxBadMinSeqAgeOrGap"),
        }
        world.close();
    }
    panic!("it was never taken")
}

#[test]
fn a_sequence_number_must_be_old_enough() {
    assert_eq!(ledgers_until_taken(|c| c.min_seq_age = Duration(0)), 0);
    assert_eq!(ledgers_until_taken(|c| c.min_seq_age = Duration(5)), 1);
    assert_eq!(ledgers_until_taken(|c| c.min_seq_age = Duration(11)), 3);
}

#[test]
fn enough_ledgers_must_have_passed() {
    // Judged for the next ledger, which is one after the last.
    assert_eq!(ledgers_until_taken(|c| c.min_seq_ledger_gap = 1), 0);
    assert_eq!(ledgers_until_taken(|c| c.min_seq_ledger_gap = 4), 3);
}

#[test]
fn a_lower_sequence_number_than_the_next_may_be_enough() {
    let (mut world, alice) = used();
    let mut tx = conditional(&world, &alice, |_| {});
    tx.seq_num.0 += 5;
    assert_eq!(refusal(&world.submit_tx(&tx, &[&alice])), "TxBadSeq");
    let present = world.next_sequence(&alice) - 1;
    let lowest = |lowest| {
        let mut tx = tx.clone();
        if let Preconditions::V2(conditions) = &mut tx.cond {
            conditions.min_seq_num = Some(SequenceNumber(lowest));
        }
        tx
    };
    let refused = world.submit_tx(&lowest(present + 1), &[&alice]);
    assert_eq!(refusal(&refused), "TxBadSeq");
    let taken = world.submit_tx(&lowest(present), &[&alice]);
    assert_eq!(taken, SubmitStatus::Pending);
    assert!(world.close().transactions[0].is_success());
    assert_eq!(world.next_sequence(&alice), present + 7);
}
