//! Nothing is sent that was not recorded, and nothing is recorded under a claim that was lost.

use tender::domain::ids::{Fence, Pair, Version};
use tender::domain::submission::{Event, Status};
use tender::ledger::{Applied, Claim, LedgerError, SendState, Submission};

use crate::bed::{Bed, RULES, done, envelope};

/// Asserts that neither the row nor its envelopes nor its log have changed.
async fn unchanged(bed: &Bed, row: &Submission, attempts: usize, lines: usize) {
    let now = bed.row(row.id).await;
    assert_eq!(
        (now.version, now.state, &now.sending),
        (row.version, row.state, &row.sending)
    );
    assert_eq!(
        (now.tx_hash, now.attempt_count),
        (row.tx_hash, row.attempt_count)
    );
    assert_eq!(bed.ledger.attempts(row.id).await.unwrap().len(), attempts);
    assert_eq!(bed.ledger.log(row.id).await.unwrap().len(), lines);
}

async fn an_envelope_is_recorded_with_its_transition(bed: Bed) {
    bed.channels(1).await;
    let id = bed.accept("key").await.id;
    let claim = bed.claim(id).await;
    let given = envelope(claim.pair);
    let row = done(bed.ledger.record(&claim, given.clone(), 41).await.unwrap());
    assert_eq!(row.state.status, Status::Submitted);
    assert_eq!(row.version, Version(claim.submission.version.0 + 1));
    assert_eq!((row.tx_hash, row.attempt_count), (Some(given.hash), 1));
    // Whoever recorded it may die before sending it: the row asks for a resend by itself.
    let resend_after = i64::try_from(RULES.resend_after.as_millis()).unwrap();
    assert_eq!(
        row.sending,
        SendState::Resend(row.updated_at + resend_after)
    );
    let attempts = bed.ledger.attempts(id).await.unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].envelope, given);
    assert_eq!((attempts[0].submission, attempts[0].generation), (id, 0));
    assert_eq!(
        (attempts[0].sent_after_ledger, attempts[0].settled),
        (41, false)
    );
}

async fn a_lost_claim_records_nothing(bed: Bed) {
    bed.channels(1).await;
    let id = bed.accept("key").await.id;
    let old = bed.claim(id).await;
    bed.apply(&old.submission, Event::ClaimLapsed).await;
    bed.sql("UPDATE submission_ledger SET next_attempt_at = 0")
        .await;
    let new = bed.claim(id).await;
    let impostors = [
        // A zombie that wakes late.
        old.clone(),
        // The right version under a token that was not given out for it.
        Claim {
            fence: old.fence,
            ..new.clone()
        },
        Claim {
            fence: Fence(uuid::Uuid::new_v4()),
            ..new.clone()
        },
        // The right token with a version from before.
        Claim {
            submission: old.submission.clone(),
            ..new.clone()
        },
    ];
    for impostor in impostors {
        let applied = bed
            .ledger
            .record(&impostor, envelope(new.pair), 1)
            .await
            .unwrap();
        assert!(matches!(applied, Applied::Stale), "{applied:?}");
        unchanged(&bed, &new.submission, 0, 3).await;
    }
    bed.record(&new).await;
    let again = bed
        .ledger
        .record(&new, envelope(new.pair), 1)
        .await
        .unwrap();
    assert!(
        matches!(again, Applied::Stale),
        "a claim records once: {again:?}"
    );
}

async fn an_envelope_of_another_pair_is_refused(bed: Bed) {
    bed.channels(2).await;
    let id = bed.accept("key").await.id;
    let claim = bed.claim(id).await;
    let other = Pair {
        sequence: claim.pair.sequence + 1,
        ..claim.pair
    };
    let error = bed
        .ledger
        .record(&claim, envelope(other), 1)
        .await
        .unwrap_err();
    assert!(matches!(error, LedgerError::Corrupt(_)), "{error}");
    unchanged(&bed, &claim.submission, 0, 1).await;
    let row = bed.record(&claim).await;
    let error = bed
        .ledger
        .record_bump(id, row.version, envelope(other), 1)
        .await
        .unwrap_err();
    assert!(matches!(error, LedgerError::Corrupt(_)), "{error}");
    unchanged(&bed, &row, 1, 2).await;
}

async fn a_fee_bump_is_recorded_beside_the_first_envelope(bed: Bed) {
    bed.channels(1).await;
    let row = bed.confirming("key").await;
    let first = row.tx_hash;
    let mut bump = envelope(row.pair.unwrap());
    bump.inner_hash = first;
    let stale = Version(row.version.0 - 1);
    let late = bed
        .ledger
        .record_bump(row.id, stale, bump.clone(), 1)
        .await
        .unwrap();
    assert!(matches!(late, Applied::Stale), "{late:?}");
    unchanged(&bed, &row, 1, 3).await;
    let bumped = done(
        bed.ledger
            .record_bump(row.id, row.version, bump.clone(), 1)
            .await
            .unwrap(),
    );
    assert_eq!(bumped.state, row.state);
    assert_eq!(bumped.version, Version(row.version.0 + 1));
    assert_eq!(bumped.tx_hash, Some(bump.hash));
    let hashes: Vec<_> = bed
        .ledger
        .attempts(row.id)
        .await
        .unwrap()
        .into_iter()
        .map(|attempt| attempt.envelope.hash)
        .collect();
    assert_eq!(
        hashes,
        [first.unwrap(), bump.hash],
        "no hash is ever erased"
    );
}

async fn only_a_row_in_flight_takes_another_envelope(bed: Bed) {
    bed.channels(2).await;
    let building = bed.claim(bed.accept("building").await.id).await.submission;
    let paid = bed.confirming("paid").await;
    let paid = bed.apply(&paid, Event::Succeeded).await;
    for (row, attempts) in [(building, 0), (paid, 1)] {
        let bump = envelope(row.pair.unwrap());
        let applied = bed
            .ledger
            .record_bump(row.id, row.version, bump, 1)
            .await
            .unwrap();
        assert!(matches!(applied, Applied::Illegal(_)), "{applied:?}");
        assert_eq!(bed.ledger.attempts(row.id).await.unwrap().len(), attempts);
    }
}

async fn a_hash_is_recorded_once_and_a_refused_one_leaves_nothing_behind(bed: Bed) {
    bed.channels(2).await;
    let first = bed.confirming("first").await;
    let claim = bed.claim(bed.accept("second").await.id).await;
    let mut twin = envelope(claim.pair);
    twin.hash = first.tx_hash.unwrap();
    let error = bed.ledger.record(&claim, twin, 1).await.unwrap_err();
    assert!(matches!(error, LedgerError::Corrupt(_)), "{error}");
    unchanged(&bed, &claim.submission, 0, 1).await;
    bed.record(&claim).await;
}

on_both!(
    an_envelope_is_recorded_with_its_transition,
    a_lost_claim_records_nothing,
    an_envelope_of_another_pair_is_refused,
    a_fee_bump_is_recorded_beside_the_first_envelope,
    only_a_row_in_flight_takes_another_envelope,
    a_hash_is_recorded_once_and_a_refused_one_leaves_nothing_behind,
);
