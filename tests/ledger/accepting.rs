//! One row per tenant and key, whoever comes with it and however often.

use futures::FutureExt;
use futures::future::{BoxFuture, try_join_all};
use sea_orm::{ConnectionTrait, TransactionTrait};
use serde_json::json;
use tender::domain::key::KeyTag;
use tender::domain::submission::State;
use tender::ledger::{Accepted, LedgerError};

use crate::bed::{Bed, RULES, accepted, new};

async fn of_64_duplicates_at_once_one_is_new(bed: Bed) {
    let ledgers = [bed.ledger.clone(), bed.another(RULES).await];
    let calls: Vec<_> = (0..64)
        .map(|n| {
            let ledger = ledgers[n % 2].clone();
            tokio::spawn(async move { ledger.accept(new("same")).await })
        })
        .collect();
    let (mut fresh, mut ids) = (0, Vec::new());
    for call in calls {
        let row = match call.await.unwrap().unwrap() {
            Accepted::New(row) => {
                fresh += 1;
                row
            }
            Accepted::Existing(row) => row,
        };
        ids.push(row.id);
    }
    ids.dedup();
    assert_eq!((fresh, ids.len()), (1, 1));
    assert_eq!(
        bed.number("SELECT count(*) FROM submission_ledger").await,
        1
    );
}

async fn batches_that_share_keys_in_any_order_all_end(bed: Bed) {
    const KEYS: usize = 120;
    let other = bed.another(RULES).await;
    if bed.is_postgres() {
        // Rows take so long that the two statements meet halfway.
        bed.sql(
            "CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN PERFORM count(*) FROM generate_series(1, 10000); RETURN NEW; END'",
        )
        .await;
        bed.sql(
            "CREATE TRIGGER lingering BEFORE INSERT ON submission_ledger \
             FOR EACH ROW EXECUTE FUNCTION linger()",
        )
        .await;
    }
    // While the table is held, callers gather: two large batches with the same keys in opposite order.
    let raw = bed.raw().await;
    let held = raw.begin().await.unwrap();
    let hold = if bed.is_postgres() {
        "LOCK TABLE submission_ledger IN EXCLUSIVE MODE"
    } else {
        "UPDATE submission_ledger SET version = version"
    };
    held.execute_unprepared(hold).await.unwrap();
    let upwards = (0..KEYS).map(|n| bed.ledger.accept(new(&format!("key-{n:03}"))));
    let downwards = (0..KEYS)
        .rev()
        .map(|n| other.accept(new(&format!("key-{n:03}"))));
    let mut calls = try_join_all([join(upwards), join(downwards)]);
    assert!(futures::poll!(&mut calls).is_pending());
    held.commit().await.unwrap();
    let answers = calls.await.unwrap().concat();
    let fresh = answers
        .iter()
        .filter(|answer| matches!(answer, Accepted::New(_)))
        .count();
    assert_eq!((answers.len(), fresh), (2 * KEYS, KEYS));
}

type Answers<'a> = BoxFuture<'a, Result<Vec<Accepted>, LedgerError>>;

fn join<'a, F>(calls: impl Iterator<Item = F>) -> Answers<'a>
where
    F: Future<Output = Result<Accepted, LedgerError>> + Send + 'a,
{
    try_join_all(calls.collect::<Vec<_>>()).boxed()
}

async fn what_was_accepted_reads_back_as_it_was(bed: Bed) {
    let mut given = new("key");
    given.business_ref = Some("invoice-7 \u{2014} \"quoted\"".to_owned());
    given.payload = json!({"z": 1, "a": {"id": u64::MAX, "text": "nul \u{0} and \u{1F680}"}});
    let row = accepted(bed.ledger.accept(given.clone()).await.unwrap());
    let now = bed.ledger.now().await.unwrap();
    let read = bed.row(row.id).await;
    assert_eq!(read.tenant, given.tenant);
    assert_eq!(read.key, given.key);
    assert_eq!(read.tag, KeyTag::of(&given.tenant, &given.key));
    assert_eq!(read.business_ref, given.business_ref);
    assert_eq!(read.payload, given.payload);
    assert_eq!(read.fingerprint, given.fingerprint);
    assert_eq!(read.state, State::ACCEPTED);
    assert_eq!((read.pair, read.fence, read.tx_hash), (None, None, None));
    assert_eq!((read.attempt_count, read.round), (0, 0));
    assert!(read.created_at <= now && read.created_at > now - 60_000);
    assert_eq!(read.next_attempt_at, read.created_at);
    let by_key = bed.ledger.by_key(&given.tenant, &given.key).await.unwrap();
    assert_eq!(by_key.unwrap().id, row.id);
}

async fn a_key_of_another_tenant_is_another_intent(bed: Bed) {
    let first = bed.accept("key").await;
    let mut given = new("key");
    given.tenant = "other".parse().unwrap();
    assert_ne!(
        accepted(bed.ledger.accept(given).await.unwrap()).id,
        first.id
    );
    let mut altered = new("key");
    altered.payload = json!({"amount": "2"});
    match bed.ledger.accept(altered).await.unwrap() {
        // The caller compares the fingerprint: what is stored stays as it was.
        Accepted::Existing(row) => assert_eq!(row.payload, first.payload),
        Accepted::New(row) => panic!("a second row {} for one key", row.id),
    }
}

async fn a_row_that_the_database_refuses_does_not_hurt_its_neighbours(bed: Bed) {
    bed.sql("CREATE UNIQUE INDEX one_ref ON submission_ledger (business_ref)")
        .await;
    let mut taken = new("taken");
    taken.business_ref = Some("x".to_owned());
    bed.ledger.accept(taken).await.unwrap();
    let calls: Vec<_> = (0..40)
        .map(|n| {
            let ledger = bed.ledger.clone();
            let mut given = new(&format!("key-{n}"));
            given.business_ref = (n % 10 == 0).then(|| "x".to_owned());
            tokio::spawn(async move { ledger.accept(given).await.is_ok() })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), n % 10 != 0, "key-{n}");
    }
}

on_both!(
    of_64_duplicates_at_once_one_is_new,
    batches_that_share_keys_in_any_order_all_end,
    what_was_accepted_reads_back_as_it_was,
    a_key_of_another_tenant_is_another_intent,
    a_row_that_the_database_refuses_does_not_hurt_its_neighbours,
);
