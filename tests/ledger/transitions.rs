//! A row moves by transitions only: each is compared, set and logged, once.

use std::time::Duration;

use serde_json::json;
use tender::domain::ids::{SubmissionId, TxHash, Version};
use tender::domain::submission::{Event, Gap, Status};
use tender::ledger::{Applied, Change, SendPlan, SendState};

use crate::bed::{Bed, RULES, at, done, terminal, transient};

async fn the_log_has_one_line_per_transition(bed: Bed) {
    bed.channels(1).await;
    let row = bed.confirming("key").await;
    let change = Change {
        evidence: Some(json!({"ledger": 7})),
        account: Some(at(101)),
        tx_hash: Some(TxHash([9; 32])),
        ..Change::new(&row, Event::Succeeded, "reconciler")
    };
    let row = done(bed.ledger.apply(change).await.unwrap());
    assert_eq!(row.evidence, Some(json!({"ledger": 7})));
    assert_eq!(row.tx_hash, Some(TxHash([9; 32])));
    let log = bed.ledger.log(row.id).await.unwrap();
    let lines: Vec<_> = log
        .iter()
        .map(|line| {
            (
                line.event.as_str(),
                line.from.as_str(),
                line.to.as_str(),
                line.version,
            )
        })
        .collect();
    let first = row.version.0 - 3;
    assert_eq!(
        lines,
        [
            ("claimed", "pending", "building", Version(first)),
            (
                "envelope_recorded",
                "building",
                "submitted",
                Version(first + 1)
            ),
            (
                "acknowledged",
                "submitted",
                "confirming",
                Version(first + 2)
            ),
            ("succeeded", "confirming", "confirmed", row.version),
        ]
    );
    assert_eq!(log[3].actor, "reconciler");
    assert!(
        log[3]
            .detail
            .as_ref()
            .unwrap()
            .to_string()
            .contains("\"ledger\":7")
    );
    assert!(log.iter().all(|line| line.at > 0));
}

async fn of_two_who_saw_the_same_version_one_writes(bed: Bed) {
    bed.channels(1).await;
    let row = bed.confirming("key").await;
    let ledgers = [bed.ledger.clone(), bed.another(RULES).await];
    let calls: Vec<_> = (0..16)
        .map(|n| {
            let ledger = ledgers[n % 2].clone();
            let event = if n % 3 == 0 {
                Event::Succeeded
            } else {
                Event::LedgerFailed(transient())
            };
            let change = Change::new(&row, event, "test");
            tokio::spawn(async move { ledger.apply(change).await.unwrap() })
        })
        .collect();
    let mut wrote = 0;
    for call in calls {
        match call.await.unwrap() {
            Applied::Done(_) => wrote += 1,
            Applied::Stale => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(wrote, 1);
    assert_eq!(bed.ledger.log(row.id).await.unwrap().len(), 4);
    assert_eq!(bed.row(row.id).await.version, Version(row.version.0 + 1));
    assert_eq!(bed.ledger.pool().await.unwrap().free, 1);
}

async fn what_is_stale_or_illegal_writes_nothing(bed: Bed) {
    bed.channels(1).await;
    let row = bed.confirming("key").await;
    let stale = Change {
        version: Version(row.version.0 - 1),
        ..Change::new(&row, Event::Succeeded, "test")
    };
    assert!(matches!(
        bed.ledger.apply(stale).await.unwrap(),
        Applied::Stale
    ));
    // Claims and envelopes bring something along, so they have verbs of their own.
    for event in [
        Event::Cancelled,
        Event::Requeued,
        Event::ResolvedPaid,
        Event::Claimed,
        Event::EnvelopeRecorded,
    ] {
        match bed
            .ledger
            .apply(Change::new(&row, event.clone(), "test"))
            .await
            .unwrap()
        {
            Applied::Illegal(illegal) => assert_eq!(
                (illegal.status, illegal.event),
                (Status::Confirming, event.as_str())
            ),
            other => panic!("{event:?}: {other:?}"),
        }
    }
    let nobody = Change {
        id: SubmissionId(uuid::Uuid::new_v4()),
        ..Change::new(&row, Event::Succeeded, "test")
    };
    assert!(matches!(
        bed.ledger.apply(nobody).await.unwrap(),
        Applied::NotFound
    ));
    let after = bed.row(row.id).await;
    assert_eq!(
        (after.version, after.state, after.updated_at),
        (row.version, row.state, row.updated_at)
    );
    assert_eq!(bed.ledger.log(row.id).await.unwrap().len(), 3);
    assert_eq!(bed.ledger.pool().await.unwrap().leased, 1);
}

async fn a_ledgers_worth_of_changes_share_a_commit_and_nothing_else(bed: Bed) {
    bed.channels(4).await;
    let mut rows = Vec::new();
    for n in 0..4 {
        rows.push(bed.confirming(&format!("key-{n}")).await);
    }
    let change = |n: usize, event| Change::new(&rows[n], event, "test");
    let changes = vec![
        change(0, Event::Succeeded),
        Change {
            version: Version(0),
            ..change(1, Event::Succeeded)
        },
        change(2, Event::Cancelled),
        Change {
            id: SubmissionId(uuid::Uuid::new_v4()),
            ..change(0, Event::Succeeded)
        },
        change(3, Event::LedgerFailed(terminal())),
        // Twice in one batch: the second comes too late.
        change(0, Event::Succeeded),
    ];
    let applied = bed.ledger.apply_all(changes).await.unwrap();
    let names: Vec<_> = applied
        .iter()
        .map(|applied| match applied {
            Applied::Done(row) => row.state.status.as_str(),
            Applied::Stale => "stale",
            Applied::Illegal(_) => "illegal",
            Applied::NotFound => "not found",
        })
        .collect();
    assert_eq!(
        names,
        [
            "confirmed",
            "stale",
            "illegal",
            "not found",
            "failed",
            "stale"
        ]
    );
    let pool = bed.ledger.pool().await.unwrap();
    assert_eq!((pool.free, pool.leased), (2, 2));
    assert_eq!(bed.ledger.apply_all(Vec::new()).await.unwrap().len(), 0);
}

async fn two_who_settle_the_same_ledger_do_not_deadlock(bed: Bed) {
    bed.channels(20).await;
    let mut changes = Vec::new();
    for n in 0..20 {
        let row = bed.confirming(&format!("key-{n}")).await;
        changes.push(Change::new(&row, Event::Succeeded, "test"));
    }
    let mut backwards = changes.clone();
    backwards.reverse();
    let other = bed.another(RULES).await;
    let (one, two) = tokio::join!(bed.ledger.apply_all(changes), other.apply_all(backwards));
    let done = [one.unwrap(), two.unwrap()]
        .concat()
        .iter()
        .filter(|applied| matches!(applied, Applied::Done(_)))
        .count();
    assert_eq!(done, 20);
}

async fn back_off_counts_from_the_databases_clock(bed: Bed) {
    bed.channels(1).await;
    let mut row = bed.accept("key").await;
    for failures in 1..=2 {
        bed.sql("UPDATE submission_ledger SET next_attempt_at = 0")
            .await;
        row = bed.record(&bed.claim(row.id).await).await;
        let before = bed.ledger.now().await.unwrap();
        row = bed
            .apply(&row, Event::ProvenDead(transient(), Gap::None))
            .await;
        let after = bed.ledger.now().await.unwrap();
        let delay = i64::try_from((RULES.backoff_base * failures).as_millis()).unwrap();
        assert!(
            (before + delay..=after + delay).contains(&row.next_attempt_at),
            "after {failures}"
        );
        assert_eq!(row.state.transient_failures, failures);
    }
    // Due at once, whatever the back-off was.
    let row = bed
        .apply(
            &row,
            Event::IdlePairConsumed(tender::domain::submission::Consumer::Unknown),
        )
        .await;
    assert!(row.next_attempt_at <= bed.ledger.now().await.unwrap());
}

async fn what_the_row_asks_for_is_kept_and_forgotten_with_the_flight(bed: Bed) {
    bed.channels(1).await;
    let mut row = bed.confirming("key").await;
    let bid = SendPlan::RaiseFee {
        required: 1000,
        operations: 1,
        after: Duration::from_secs(9),
    };
    let plans = [
        SendPlan::Resend(Duration::from_secs(3)),
        bid,
        SendPlan::Stop(terminal()),
        SendPlan::Wait,
    ];
    for plan in plans {
        let change = Change {
            sending: Some(plan.clone()),
            last_error: Some("seen".to_owned()),
            ..Change::new(&row, Event::AnswerNoted, "test")
        };
        row = done(bed.ledger.apply(change).await.unwrap());
        let expected = match plan {
            SendPlan::Wait => SendState::Waiting,
            SendPlan::Resend(after) => {
                SendState::Resend(row.updated_at + i64::try_from(after.as_millis()).unwrap())
            }
            SendPlan::RaiseFee {
                required,
                operations,
                after,
            } => SendState::RaiseFee {
                required,
                operations,
                at: row.updated_at + i64::try_from(after.as_millis()).unwrap(),
            },
            SendPlan::Stop(cause) => SendState::Stopped(cause),
        };
        assert_eq!(row.sending, expected);
        assert_eq!(bed.row(row.id).await.sending, expected, "it reads back");
        assert_eq!(row.last_error.as_deref(), Some("seen"));
    }
    let change = Change {
        sending: Some(SendPlan::Stop(terminal())),
        ..Change::new(&row, Event::AnswerNoted, "test")
    };
    let row = done(bed.ledger.apply(change).await.unwrap());
    let unchanged = bed.apply(&row, Event::Acknowledged).await;
    assert_eq!(
        unchanged.sending, row.sending,
        "said nothing, changed nothing"
    );
    let row = bed.apply(&unchanged, Event::ConsumerBeyondReach).await;
    assert_eq!(
        row.sending,
        SendState::Waiting,
        "nothing is sent for a key whose outcome is unknown"
    );
}

on_both!(
    the_log_has_one_line_per_transition,
    of_two_who_saw_the_same_version_one_writes,
    what_is_stale_or_illegal_writes_nothing,
    a_ledgers_worth_of_changes_share_a_commit_and_nothing_else,
    two_who_settle_the_same_ledger_do_not_deadlock,
    back_off_counts_from_the_databases_clock,
    what_the_row_asks_for_is_kept_and_forgotten_with_the_flight,
);
