//! What the chain told of forgotten transactions is kept, and a key that was paid by one is never claimed again.

use serde_json::json;
use tender::domain::ids::{AccountId, Pair, TxHash};
use tender::domain::key::KeyTag;
use tender::domain::memory::RecoveredKind;
use tender::domain::submission::{Event, Paid, PairUse, Status, Verdict};
use tender::ledger::{
    Applied, Change, ClaimOutcome, LedgerError, Recovered, Serialized, Submission,
};

use crate::bed::{Bed, ON_CHAIN, done};

fn payment(pair: Pair, tag: KeyTag) -> Recovered {
    Recovered {
        pair,
        kind: RecoveredKind::Paid,
        tag: Some(tag),
        hash: Some(TxHash([9; 32])),
        ledger: Some(77),
        operation: Some(json!({ "type": "payment" })),
        evidence: json!({ "proof": "event" }),
    }
}

/// Stops it, waits the window out, and gives the epoch of the recovery.
async fn recovering(bed: &Bed) -> i64 {
    assert!(bed.ledger.stop("test").await.unwrap());
    let epoch = bed.ledger.memory().await.unwrap().mark.epoch;
    assert!(bed.ledger.wait_until(epoch, 7).await.unwrap());
    epoch
}

fn recovered(row: &Submission, paid: Paid, pair: PairUse) -> Change {
    Change::new(row, Event::Recovered(paid, pair), "test")
}

async fn a_key_that_was_paid_is_not_claimed_whatever_the_strategy(bed: Bed) {
    let accounts = bed.channels(2).await;
    let pair = Pair {
        account: accounts[0],
        sequence: ON_CHAIN + 1,
    };
    let (row, other) = (bed.accept("paid").await, bed.accept("other").await);
    let epoch = recovering(&bed).await;
    let found = payment(pair, row.tag);
    let elsewhere = Recovered {
        kind: RecoveredKind::Failed,
        ..payment(pair, other.tag)
    };
    // Twice, as by a recovery that was killed: what was found first stays.
    for found in [vec![found.clone()], vec![elsewhere]] {
        bed.ledger.note_recovered(epoch, found).await.unwrap();
    }
    let kept = bed.ledger.recovered().await.unwrap();
    assert_eq!(kept.first(), Some(&found));
    assert_eq!(kept.len(), 1);
    bed.ledger
        .go_on_behind(epoch, accounts[0], ON_CHAIN + 1)
        .await
        .unwrap();
    assert!(bed.ledger.reopen(epoch).await.unwrap());
    is_settled_by(&bed, &row, found).await;
    let claim = bed.claim(other.id).await;
    let free = bed.channel(accounts[0]).await.next_sequence;
    assert_eq!(free, ON_CHAIN + 2);
    assert!(claim.pair.sequence > ON_CHAIN);
}

async fn is_settled_by(bed: &Bed, row: &Submission, found: Recovered) {
    let account = AccountId([2; 32]);
    let ClaimOutcome::Paid(held, by) = bed.ledger.claim(row.id).await.unwrap() else {
        panic!("it was paid");
    };
    assert_eq!((held.id, *by), (row.id, found));
    let claimed = bed
        .ledger
        .claim_sequence(row.id, account, Some(ON_CHAIN + 1), 2)
        .await;
    assert!(matches!(claimed.unwrap(), Serialized::Paid(..)));
    let change = recovered(&held, Paid::AsAsked, PairUse::Unused);
    let row = done(bed.ledger.apply(change).await.unwrap());
    assert_eq!(
        (row.state.status, row.state.verdict),
        (Status::Confirmed, Verdict::Success)
    );
}

async fn a_recovery_settles_rows_while_nobody_else_does(bed: Bed) {
    bed.channels(3).await;
    let (idle, sent) = (bed.accept("idle").await, bed.confirming("sent").await);
    let cancelled = bed.accept("cancelled").await;
    let cancelled = bed.apply(&cancelled, Event::Cancelled).await;
    let epoch = recovering(&bed).await;
    let changes = [
        recovered(&idle, Paid::AsAsked, PairUse::Unused),
        recovered(&cancelled, Paid::Otherwise, PairUse::Unused),
        recovered(&sent, Paid::AsAsked, PairUse::Used),
    ];
    let early = bed
        .ledger
        .apply_recovered(epoch - 1, changes.to_vec())
        .await;
    assert!(
        matches!(early, Err(LedgerError::MemoryLost(_))),
        "{early:?}"
    );
    let applied = bed
        .ledger
        .apply_recovered(epoch, changes.to_vec())
        .await
        .unwrap();
    assert!(
        applied.iter().all(|it| matches!(it, Applied::Done(_))),
        "{applied:?}"
    );
    let again = bed
        .ledger
        .apply_recovered(epoch, changes.to_vec())
        .await
        .unwrap();
    assert!(
        again.iter().all(|it| matches!(it, Applied::Stale)),
        "{again:?}"
    );
    let kept = [idle, cancelled, sent];
    are_settled(&bed, epoch, &kept).await;
}

async fn are_settled(bed: &Bed, epoch: i64, rows: &[Submission; 3]) {
    let [idle, cancelled, sent] = rows;
    assert_eq!(bed.row(idle.id).await.state.status, Status::Confirmed);
    let otherwise = bed.row(cancelled.id).await.state;
    assert_eq!(
        (otherwise.status, otherwise.verdict),
        (Status::Failed, Verdict::Success)
    );
    let pair = sent.pair.unwrap();
    let channel = bed.channel(pair.account).await;
    assert_eq!(channel.next_sequence, pair.sequence + 1);
    assert!(bed.ledger.reopen(epoch).await.unwrap());
    let late = bed
        .ledger
        .note_recovered(epoch, vec![payment(pair, sent.tag)])
        .await;
    assert!(matches!(late, Err(LedgerError::MemoryLost(_))), "{late:?}");
}

on_both!(
    a_key_that_was_paid_is_not_claimed_whatever_the_strategy,
    a_recovery_settles_rows_while_nobody_else_does,
);
