//! A due row goes to exactly one claimant, and a pair to exactly one row.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tender::domain::ids::{Pair, SubmissionId};
use tender::domain::submission::{Event, Status};
use tender::ledger::{Change, ClaimOutcome, Ledger, Rules, Submission};
use tokio::sync::watch;

use crate::bed::{Bed, ON_CHAIN, RULES, done, envelope};

/// Takes a row as far as confirmed. False while no channel is free.
async fn pay(ledger: &Ledger, id: SubmissionId, used: &Mutex<HashSet<Pair>>) -> bool {
    let claim = match ledger.claim(id).await.unwrap() {
        ClaimOutcome::Claimed(claim) => *claim,
        ClaimOutcome::NoChannel => return false,
        ClaimOutcome::NotDue | ClaimOutcome::Paid(..) => {
            panic!("{id} was claimed by somebody else")
        }
    };
    assert!(
        used.lock().unwrap().insert(claim.pair),
        "{:?} was handed out twice",
        claim.pair
    );
    let row = done(
        ledger
            .record(&claim, envelope(claim.pair), 1)
            .await
            .unwrap(),
    );
    done(
        ledger
            .apply(Change::new(&row, Event::Succeeded, "test"))
            .await
            .unwrap(),
    );
    true
}

async fn of_64_tasks_over_16_channels_no_two_get_the_same_pair(bed: Bed) {
    bed.channels(16).await;
    let mut rows = Vec::new();
    for n in 0..192 {
        rows.push(bed.accept(&format!("key-{n}")).await.id);
    }
    let rows = Arc::new(Mutex::new(rows));
    let used = Arc::new(Mutex::new(HashSet::new()));
    let busy = Arc::new(AtomicUsize::new(64));
    let paid = watch::Sender::new(0);
    let ledgers = [bed.ledger.clone(), bed.another(RULES).await];
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            let (rows, used, busy) = (Arc::clone(&rows), Arc::clone(&used), Arc::clone(&busy));
            let ledger = ledgers[n % 2].clone();
            let paid = paid.clone();
            tokio::spawn(async move {
                // Asking again and again would keep the other handle's writer from the lock of the file.
                let mut freed = paid.subscribe();
                while let Some(id) = { rows.lock().unwrap().pop() } {
                    freed.mark_unchanged();
                    if pay(&ledger, id, &used).await {
                        paid.send_modify(|count| *count += 1);
                    } else {
                        rows.lock().unwrap().push(id);
                        freed.changed().await.unwrap();
                    }
                }
                busy.fetch_sub(1, Ordering::Relaxed);
            })
        })
        .collect();
    while busy.load(Ordering::Relaxed) > 0 {
        let pool = bed.ledger.pool().await.unwrap();
        assert_eq!(pool.free + pool.leased + pool.quarantined, 16);
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(used.lock().unwrap().len(), 192);
    assert_eq!(bed.ledger.pool().await.unwrap().free, 16);
    let channels = bed.ledger.channels().await.unwrap();
    let handed_out: i64 = channels
        .iter()
        .map(|channel| channel.next_sequence - ON_CHAIN - 1)
        .sum();
    assert_eq!(handed_out, 192, "no sequence was skipped");
}

async fn of_32_claimants_one_wins(bed: Bed) {
    bed.channels(32).await;
    let id = bed.accept("key").await.id;
    let ledgers = [bed.ledger.clone(), bed.another(RULES).await];
    let claims: Vec<_> = (0..32)
        .map(|n| {
            let ledger = ledgers[n % 2].clone();
            tokio::spawn(async move { ledger.claim(id).await.unwrap() })
        })
        .collect();
    let mut won = 0;
    for claim in claims {
        match claim.await.unwrap() {
            ClaimOutcome::Claimed(_) => won += 1,
            ClaimOutcome::NotDue => {}
            ClaimOutcome::NoChannel | ClaimOutcome::Paid(..) => panic!("31 channels are free"),
        }
    }
    let pool = bed.ledger.pool().await.unwrap();
    assert_eq!((won, pool.leased, pool.free), (1, 1, 31));
}

async fn a_claim_takes_the_account_that_rested_longest(bed: Bed) {
    let accounts = bed.channels(3).await;
    bed.sql("UPDATE channel_accounts SET last_used_at = 5")
        .await;
    let middle = accounts[1];
    bed.sql(&format!(
        "UPDATE channel_accounts SET last_used_at = 1 WHERE account = '{middle}'"
    ))
    .await;
    let id = bed.accept("key").await.id;
    let claim = bed.claim(id).await;
    assert_eq!(
        claim.pair,
        Pair {
            account: middle,
            sequence: ON_CHAIN + 1
        }
    );
    assert_eq!(claim.submission.state.status, Status::Building);
    assert_eq!(claim.submission.pair, Some(claim.pair));
    assert_eq!(claim.submission.fence, Some(claim.fence));
}

async fn without_a_free_channel_nothing_is_used_up(bed: Bed) {
    let account = bed.channels(1).await[0];
    let row = bed.accept("key").await;
    let take = async || {
        let took = bed.ledger.take_due(10, RULES.claim_ttl).await.unwrap();
        took.into_iter()
            .map(|dispatch| dispatch.job)
            .collect::<Vec<_>>()
    };
    let first = take().await;
    assert_eq!(first.len(), 1);
    // Somebody takes the last channel away before the job runs.
    assert!(bed.ledger.quarantine(account, "away").await.unwrap());
    for _ in 0..5 {
        let outcome = bed.ledger.claim(row.id).await.unwrap();
        assert!(matches!(outcome, ClaimOutcome::NoChannel), "{outcome:?}");
    }
    let looks = |row: &Submission| (row.state, row.version, row.next_attempt_at);
    assert_eq!(looks(&bed.row(row.id).await), looks(&row));
    assert_eq!(take().await, [], "it would only be handed back");
    let back = bed.ledger.release_verified(account, ON_CHAIN, "back");
    assert!(back.await.unwrap());
    let again = take().await;
    assert_eq!(again.len(), 1);
    assert_ne!(again, first, "the next round is another job to the queue");
}

async fn a_row_that_holds_a_pair_keeps_it(bed: Bed) {
    bed.channels(5).await;
    let id = bed.accept("key").await.id;
    let first = bed.claim(id).await;
    bed.apply(&first.submission, Event::ClaimLapsed).await;
    let again = bed.claim(id).await;
    assert_eq!(again.pair, first.pair);
    bed.apply(&again.submission, Event::ClaimLapsed).await;
    // Not due before its back-off is over, by the database's clock.
    assert!(matches!(
        bed.ledger.claim(id).await.unwrap(),
        ClaimOutcome::NotDue
    ));
    bed.sql("UPDATE submission_ledger SET next_attempt_at = 0")
        .await;
    let second = bed.claim(id).await;
    assert_eq!(second.pair, first.pair);
    assert_ne!(
        second.fence, first.fence,
        "a token is never given out again"
    );
    assert_eq!(bed.ledger.pool().await.unwrap().leased, 1);
}

async fn the_cap_holds_among_processes(bed: Bed) {
    const CAPPED: Rules = Rules {
        max_in_flight: Some(3),
        ..RULES
    };
    bed.channels(10).await;
    // A row whose outcome is out of reach does not count.
    let lost = bed.confirming("lost").await;
    bed.apply(&lost, Event::ConsumerBeyondReach).await;
    let ledgers = [bed.another(CAPPED).await, bed.another(CAPPED).await];
    let mut claims = Vec::new();
    for n in 0..10 {
        let id = bed.accept(&format!("key-{n}")).await.id;
        let ledger = ledgers[n % 2].clone();
        claims.push(tokio::spawn(async move { ledger.claim(id).await.unwrap() }));
    }
    let (mut claimed, mut refused) = (0, 0);
    for claim in claims {
        match claim.await.unwrap() {
            ClaimOutcome::Claimed(_) => claimed += 1,
            ClaimOutcome::NoChannel => refused += 1,
            ClaimOutcome::NotDue | ClaimOutcome::Paid(..) => panic!("each row has one claimant"),
        }
    }
    assert_eq!((claimed, refused), (3, 7));
}

on_both!(
    of_64_tasks_over_16_channels_no_two_get_the_same_pair,
    of_32_claimants_one_wins,
    a_claim_takes_the_account_that_rested_longest,
    without_a_free_channel_nothing_is_used_up,
    a_row_that_holds_a_pair_keeps_it,
    the_cap_holds_among_processes,
);
