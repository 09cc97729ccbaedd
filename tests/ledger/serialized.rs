//! An account that submissions share: no sequence is held twice, whoever proposes it, and none is handed out too early.

use std::collections::BTreeSet;

use futures::future::join_all;
use tender::domain::ids::{AccountId, Pair, SubmissionId};
use tender::domain::sequence::{Allocation, DEPTH, Refusal};
use tender::domain::submission::{Event, Gap, Status};
use tender::ledger::{Change, ChannelState, Claim, ClaimOutcome, Serialized, Submission};

use crate::bed::{Bed, ON_CHAIN, at, done, transient};

/// The first sequence that is handed out.
const FIRST: i64 = ON_CHAIN + 1;

async fn propose(bed: &Bed, id: SubmissionId, account: AccountId, sequence: i64) -> Serialized {
    bed.ledger
        .claim_sequence(id, account, Some(sequence), DEPTH)
        .await
        .unwrap()
}

/// A row that holds that sequence, and whether it was its turn.
async fn claimed(bed: &Bed, key: &str, account: AccountId, sequence: i64) -> (Claim, bool) {
    let row = bed.accept(key).await;
    match propose(bed, row.id, account, sequence).await {
        Serialized::Claimed { claim, turn } => {
            assert_eq!(claim.pair, Pair { account, sequence });
            (*claim, turn)
        }
        other => panic!("not claimed: {other:?}"),
    }
}

async fn in_flight(bed: &Bed, key: &str, account: AccountId, sequence: i64) -> Submission {
    let (claim, _) = claimed(bed, key, account, sequence).await;
    let row = bed.record(&claim).await;
    bed.apply(&row, Event::Acknowledged).await
}

async fn refusal(bed: &Bed, key: &str, account: AccountId, sequence: i64) -> Refusal {
    let row = bed.accept(key).await;
    match propose(bed, row.id, account, sequence).await {
        Serialized::Refused(refusal) => {
            let after = bed.row(row.id).await;
            assert_eq!((after.version, after.pair), (row.version, None));
            refusal
        }
        other => panic!("not refused: {other:?}"),
    }
}

async fn allocation(bed: &Bed, account: AccountId) -> Allocation {
    let sequences = bed.ledger.sequences(account).await.unwrap();
    sequences.unwrap().allocate(DEPTH)
}

async fn few_hold_sequences_of_one_account_and_the_first_has_its_turn(bed: Bed) {
    let account = bed.channels(1).await[0];
    let (_, first) = claimed(&bed, "first", account, FIRST).await;
    let (second, behind) = claimed(&bed, "second", account, FIRST + 1).await;
    assert!(first && !behind);
    assert_eq!(bed.channel(account).await.leased_by, None);
    assert_eq!(allocation(&bed, account).await, Allocation::Full);
    let table = [
        ("used", ON_CHAIN, Refusal::Used),
        ("held", FIRST, Refusal::Held),
        ("ahead", FIRST + 2, Refusal::Ahead),
        ("far-ahead", i64::MAX, Refusal::Ahead),
    ];
    for (key, sequence, expected) in table {
        assert_eq!(refusal(&bed, key, account, sequence).await, expected);
    }
    let late = bed.accept("late").await;
    let none = bed.ledger.claim_sequence(late.id, account, None, DEPTH);
    assert!(matches!(none.await.unwrap(), Serialized::NoChannel));
    let again = propose(&bed, second.submission.id, account, FIRST + 2).await;
    assert!(matches!(again, Serialized::NotDue), "{again:?}");
}

async fn of_many_who_propose_the_same_sequence_one_holds_it(bed: Bed) {
    let account = bed.channels(1).await[0];
    let mut rows = Vec::new();
    for number in 0..64 {
        rows.push(bed.accept(&format!("key-{number}")).await.id);
    }
    let proposals = rows.iter().map(|id| propose(&bed, *id, account, FIRST));
    let outcomes = join_all(proposals).await;
    let won = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Serialized::Claimed { .. }));
    assert_eq!(won.count(), 1);
    let refused = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Serialized::Refused(Refusal::Held)));
    assert_eq!(refused.count(), 63);
    let held = bed
        .number("SELECT count(*) FROM submission_ledger WHERE pair_held")
        .await;
    assert_eq!(held, 1);
}

async fn the_account_goes_on_after_what_was_used_and_never_back(bed: Bed) {
    let account = bed.channels(1).await[0];
    let first = in_flight(&bed, "first", account, FIRST).await;
    let second = in_flight(&bed, "second", account, FIRST + 1).await;
    // The chain has applied both, and the later one is settled first.
    for row in [&second, &first] {
        let change = Change {
            account: Some(at(FIRST + 1)),
            ..Change::new(row, Event::Succeeded, "test")
        };
        done(bed.ledger.apply(change).await.unwrap());
        assert_eq!(bed.channel(account).await.next_sequence, FIRST + 2);
    }
    assert_eq!(
        refusal(&bed, "third", account, FIRST + 1).await,
        Refusal::Used
    );
    assert!(claimed(&bed, "fourth", account, FIRST + 2).await.1);
}

async fn what_the_chain_used_beyond_our_pair_is_not_skipped(bed: Bed) {
    let account = bed.channels(1).await[0];
    let row = in_flight(&bed, "ours", account, FIRST).await;
    let change = Change {
        account: Some(at(FIRST + 5)),
        ..Change::new(&row, Event::Succeeded, "test")
    };
    done(bed.ledger.apply(change).await.unwrap());
    // Whoever claims it finds out by whom it was used.
    assert_eq!(bed.channel(account).await.next_sequence, FIRST + 1);
}

async fn a_dead_sequence_that_is_given_back_is_a_gap_for_the_next_claim(bed: Bed) {
    let account = bed.channels(1).await[0];
    let first = in_flight(&bed, "first", account, FIRST).await;
    let second = in_flight(&bed, "second", account, FIRST + 1).await;
    let dead = Event::ProvenDead(transient(), Gap::None);
    let first = bed.apply(&first, dead).await;
    assert_eq!(first.pair.unwrap().sequence, FIRST, "it keeps its pair");
    assert_eq!(allocation(&bed, account).await, Allocation::Full);
    let first = bed.apply(&first, Event::Deferred).await;
    assert_eq!(
        (first.state.status, first.state.holds_pair),
        (Status::Pending, false)
    );
    assert_eq!(allocation(&bed, account).await, Allocation::Gap(FIRST));
    let (third, turn) = claimed(&bed, "third", account, FIRST).await;
    assert!(turn, "it goes before the one that waits");
    let third = bed.record(&third).await;
    bed.apply(&third, Event::Succeeded).await;
    bed.apply(&second, Event::Succeeded).await;
    assert_eq!(bed.channel(account).await.next_sequence, FIRST + 2);
}

async fn what_died_behind_a_gap_starts_over_and_moves_nothing(bed: Bed) {
    let account = bed.channels(1).await[0];
    let first = in_flight(&bed, "first", account, FIRST).await;
    let second = in_flight(&bed, "second", account, FIRST + 1).await;
    let change = Change {
        account: Some(at(ON_CHAIN)),
        ..Change::new(&second, Event::ProvenDead(transient(), Gap::Below), "test")
    };
    let second = done(bed.ledger.apply(change).await.unwrap());
    assert!(!second.state.holds_pair);
    assert_eq!(bed.channel(account).await.next_sequence, FIRST);
    let fresh = Allocation::Fresh {
        after: FIRST,
        last: FIRST + 1,
    };
    assert_eq!(allocation(&bed, account).await, fresh);
    bed.apply(&first, Event::Succeeded).await;
}

async fn a_row_keeps_the_pair_it_holds(bed: Bed) {
    let account = bed.channels(1).await[0];
    let row = in_flight(&bed, "first", account, FIRST).await;
    let dead = Event::ProvenDead(transient(), Gap::None);
    let row = bed.apply(&row, dead).await;
    bed.sql("UPDATE submission_ledger SET next_attempt_at = 0")
        .await;
    match propose(&bed, row.id, account, FIRST + 1).await {
        Serialized::Claimed { claim, turn } => {
            assert_eq!((claim.pair.sequence, turn), (FIRST, true));
        }
        other => panic!("not claimed: {other:?}"),
    }
}

async fn a_shared_account_is_leased_to_nobody_and_a_leased_one_is_not_shared(bed: Bed) {
    let account = bed.channels(1).await[0];
    let shares = in_flight(&bed, "shares", account, FIRST).await;
    let leases = bed.accept("leases").await;
    let outcome = bed.ledger.claim(leases.id).await.unwrap();
    assert!(matches!(outcome, ClaimOutcome::NoChannel), "{outcome:?}");
    bed.apply(&shares, Event::Succeeded).await;
    let claim = bed.claim(leases.id).await;
    assert_eq!(claim.pair.sequence, FIRST + 1);
    let late = bed.accept("late").await;
    let outcome = propose(&bed, late.id, account, FIRST + 2).await;
    assert!(matches!(outcome, Serialized::NoChannel), "{outcome:?}");
}

async fn an_account_that_is_set_aside_stays_aside_while_the_others_are_settled(bed: Bed) {
    let account = bed.channels(1).await[0];
    let first = in_flight(&bed, "first", account, FIRST).await;
    let second = in_flight(&bed, "second", account, FIRST + 1).await;
    bed.apply(&first, Event::ConsumedByForeign).await;
    bed.apply(&second, Event::Succeeded).await;
    let channel = bed.channel(account).await;
    assert_eq!(channel.state, ChannelState::Quarantined);
    assert_eq!(channel.next_sequence, FIRST + 2);
    let late = bed.accept("late").await;
    let outcome = propose(&bed, late.id, account, FIRST + 2).await;
    assert!(matches!(outcome, Serialized::NoChannel), "{outcome:?}");
}

async fn the_index_refuses_what_gets_past_all_this(bed: Bed) {
    let account = bed.channels(1).await[0];
    claimed(&bed, "first", account, FIRST).await;
    bed.accept("second").await;
    let forced = format!(
        "UPDATE submission_ledger SET source_account = '{account}', sequence = {FIRST}, pair_held = {} \
         WHERE idempotency_key = 'second'",
        if bed.is_postgres() { "true" } else { "1" }
    );
    let objection = bed.objection(&forced).await.expect("an objection");
    assert!(objection.to_lowercase().contains("unique"), "{objection}");
    let held = bed.ledger.sequences(account).await.unwrap().unwrap().held;
    assert_eq!(held, BTreeSet::from([FIRST]));
}

on_both!(
    few_hold_sequences_of_one_account_and_the_first_has_its_turn,
    of_many_who_propose_the_same_sequence_one_holds_it,
    the_account_goes_on_after_what_was_used_and_never_back,
    what_the_chain_used_beyond_our_pair_is_not_skipped,
    a_dead_sequence_that_is_given_back_is_a_gap_for_the_next_claim,
    what_died_behind_a_gap_starts_over_and_moves_nothing,
    a_row_keeps_the_pair_it_holds,
    a_shared_account_is_leased_to_nobody_and_a_leased_one_is_not_shared,
    an_account_that_is_set_aside_stays_aside_while_the_others_are_settled,
    the_index_refuses_what_gets_past_all_this,
);
