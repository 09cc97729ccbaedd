//! The database refuses what must never be, even from those who go past the ledger.

use tender::domain::submission::Event;

use crate::bed::Bed;

async fn no_two_rows_hold_the_same_pair_whatever_their_status(bed: Bed) {
    bed.channels(2).await;
    let held = bed.confirming("first").await.pair.unwrap();
    let other = bed.confirming("second").await;
    let steal = format!(
        "UPDATE submission_ledger SET source_account = '{}', sequence = {} WHERE idempotency_key = 'second'",
        held.account, held.sequence
    );
    for status in ["pending", "submitted", "confirming"] {
        bed.sql(&format!(
            "UPDATE submission_ledger SET status = '{status}' WHERE idempotency_key = 'second'"
        ))
        .await;
        let objection = bed
            .objection(&steal)
            .await
            .expect("the pair is held already");
        assert!(objection.to_lowercase().contains("unique"), "{objection}");
    }
    // A pair that is not held any more may be another row's past.
    let other = bed.row(other.id).await;
    bed.apply(&other, Event::Succeeded).await;
    assert_eq!(bed.objection(&steal).await, None);
}

async fn rows_that_contradict_themselves_are_refused(bed: Bed) {
    bed.channels(1).await;
    bed.confirming("key").await;
    let table = [
        ("submission_ledger", "status = 'sent'"),
        ("submission_ledger", "verdict = 'MAYBE'"),
        ("submission_ledger", "priority = 3"),
        ("submission_ledger", "category = 'terminal'"),
        ("submission_ledger", "status = 'failed', pair_held = FALSE"),
        ("submission_ledger", "sequence = NULL"),
        ("submission_ledger", "pair_held = FALSE"),
        ("submission_ledger", "status = 'confirmed'"),
        ("submission_ledger", "status = 'building', fence = NULL"),
        ("submission_ledger", "send_state = 'later'"),
        ("submission_ledger", "send_state = 'resend', send_at = NULL"),
        ("submission_attempts", "max_time = 0"),
        ("channel_accounts", "state = 'free'"),
        ("channel_accounts", "leased_by = NULL"),
        (
            "channel_accounts",
            "state = 'quarantined', leased_by = NULL",
        ),
    ];
    for (relation, assignment) in table {
        let objection = bed
            .objection(&format!("UPDATE {relation} SET {assignment}"))
            .await;
        assert!(objection.is_some(), "{relation} took {assignment}");
    }
}

async fn what_belongs_to_a_submission_cannot_outlive_it(bed: Bed) {
    bed.channels(1).await;
    bed.confirming("key").await;
    assert!(
        bed.objection("DELETE FROM submission_ledger")
            .await
            .is_some()
    );
    let line = "INSERT INTO submission_log (submission_id, version, event, from_status, to_status, actor, at) \
                SELECT id, version, 'x', 'x', 'x', 'x', 0 FROM submission_ledger";
    assert!(
        bed.objection(line).await.is_some(),
        "a version is logged once"
    );
}

on_both!(
    no_two_rows_hold_the_same_pair_whatever_their_status,
    rows_that_contradict_themselves_are_refused,
    what_belongs_to_a_submission_cannot_outlive_it,
);
