//! Looking rows up by identity, many at once.

use tender::domain::ids::SubmissionId;
use tender::ledger::LedgerError;

use crate::bed::Bed;

on_both!(
    everybody_of_a_crowd_gets_the_row_that_was_asked_for,
    a_row_that_cannot_be_read_hurts_only_who_asks_for_it,
);

async fn everybody_of_a_crowd_gets_the_row_that_was_asked_for(bed: Bed) {
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(bed.accept(&format!("key-{n}")).await.id);
    }
    // Each is asked for by several, and strangers are among them; more than one query takes.
    let asked = (0..300).map(|n| match n % 21 {
        20 => SubmissionId(uuid::Uuid::new_v4()),
        n => ids[n],
    });
    let asked: Vec<_> = asked.collect();
    let answers = asked.iter().map(|id| bed.ledger.submission(*id));
    let answers = futures::future::join_all(answers).await;
    for (id, answer) in asked.iter().zip(answers) {
        let expected = ids.contains(id).then_some(*id);
        assert_eq!(answer.unwrap().map(|row| row.id), expected);
    }
}

async fn a_row_that_cannot_be_read_hurts_only_who_asks_for_it(bed: Bed) {
    let (good, bad) = (bed.accept("good").await, bed.accept("bad").await);
    bed.sql("UPDATE submission_ledger SET payload = '{' WHERE idempotency_key = 'bad'")
        .await;
    let answers = (0..20).map(|n| {
        let id = if n % 2 == 0 { good.id } else { bad.id };
        bed.ledger.submission(id)
    });
    for (n, answer) in futures::future::join_all(answers)
        .await
        .into_iter()
        .enumerate()
    {
        match answer {
            Ok(row) => assert_eq!((n % 2, row.unwrap().id), (0, good.id)),
            Err(error) => assert!(n % 2 == 1 && matches!(error, LedgerError::Corrupt(_))),
        }
    }
}
