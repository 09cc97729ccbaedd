//! What a relay makes of rows: the submissions that HTTP would have made, each once, and a reason for every other row.

use std::collections::BTreeSet;

use futures::FutureExt as _;
use futures::future::join_all;
use tender::domain::ids::SubmissionId;
use tender::flow::accept::{self, Outcome};
use tender::flow::relay::Relayed;
use tender::ledger::{Ledger, LedgerError, ListFilter};
use tokio::task::block_in_place;

use crate::bed::{Bed, RULES};
use crate::support::postgres::Postgres;
use crate::table::{Caller, accepted, new, payment, refused, relay};

/// Takes a payment in as the API does.
async fn push(ledger: &Ledger, key: &str, stroops: u32) -> Outcome {
    let (tenant, key) = ("acme".parse().unwrap(), key.parse().unwrap());
    let request = accept::parse(&payment(stroops)).unwrap();
    accept::accept(ledger, &tenant, &key, &request)
        .await
        .unwrap()
}

async fn submissions(ledger: &Ledger) -> usize {
    let all = ListFilter::default();
    ledger.list(&all, None, 10_000).await.unwrap().0.len()
}

async fn a_row_becomes_the_submission_that_http_would_have_made(bed: Bed) {
    let caller = Caller::of(&bed).await;
    caller.pays("key", 5).await;
    let (mut relay, told) = relay(&bed.ledger);
    let done = relay.run_once().await.unwrap();
    assert_eq!((done.accepted, done.refused, done.left), (1, 0, 0));
    let id = caller.rows().await[0].submission.unwrap();
    let row = bed.row(SubmissionId(id)).await;
    assert_eq!((row.tenant.as_str(), row.key.as_str()), ("acme", "key"));
    let Outcome::Replayed(pushed) = push(&bed.ledger, "key", 5).await else {
        panic!("the key was used");
    };
    assert_eq!(pushed.id, row.id);
    assert!(told.feed.notified().now_or_never().is_some(), "it is due");
    assert_eq!(told.counted("accepted"), Some(1));
    assert_eq!(relay.run_once().await.unwrap(), Relayed::default());
    assert!(told.feed.notified().now_or_never().is_none());
}

async fn the_same_key_gives_the_same_submission_whichever_way_it_came(bed: Bed) {
    let Outcome::New(pushed) = push(&bed.ledger, "pushed", 1).await else {
        panic!("the key is new");
    };
    let caller = Caller::of(&bed).await;
    for (key, stroops) in [
        ("pushed", 1),
        ("pushed", 2),
        ("own", 1),
        ("own", 1),
        ("own", 2),
    ] {
        caller.pays(key, stroops).await;
    }
    let (mut relay, _told) = relay(&bed.ledger);
    relay.run_once().await.unwrap();
    caller.pays("own", 1).await;
    caller.pays("own", 3).await;
    relay.run_once().await.unwrap();
    let reused = refused("idempotency_key_reused");
    let same = accepted();
    let expected = [&same, &reused, &same, &same, &reused, &same, &reused].map(Clone::clone);
    assert_eq!(caller.outcomes().await, expected);
    let rows = caller.rows().await;
    assert_eq!(rows[0].submission, Some(pushed.id.0));
    assert_eq!(rows[2].submission, rows[3].submission);
    assert_eq!(rows[2].submission, rows[5].submission);
    let detail = rows[1].detail.clone().unwrap();
    assert!(detail.contains("/operation/amount"), "{detail}");
    assert!(
        !detail.contains("0.0000001"),
        "what was stored is not told: {detail}"
    );
    assert_eq!(submissions(&bed.ledger).await, 2);
}

async fn poison_is_parked_with_its_reason_and_blocks_nobody(bed: Bed) {
    let caller = Caller::of(&bed).await;
    let good = payment(1).to_string();
    let nul = r#"{"\u0000": 1}"#;
    let poison = [
        ("invalid_tenant", "a b", Some("k"), good.as_str()),
        ("invalid_json", "acme", Some("k"), "{"),
        ("invalid_payload", "acme", Some("k"), "{}"),
        ("invalid_payload", "acme", Some("k"), nul),
        ("invalid_idempotency_key", "acme", Some("k k"), &good),
        ("missing_idempotency_key", "acme", None, &good),
    ];
    let mut expected = Vec::new();
    for (number, (code, tenant, key, payload)) in poison.into_iter().enumerate() {
        caller.pays(&format!("good-{number}"), 1).await;
        caller.write(tenant, key, payload).await;
        expected.extend([accepted(), refused(code)]);
    }
    if !bed.is_postgres() {
        bed.sql("INSERT INTO outbox (tenant, idempotency_key, payload) VALUES ('acme', 'k', CAST(X'FF' AS TEXT))")
            .await;
        expected.push(refused("invalid_json"));
    }
    let (mut relay, told) = relay(&bed.ledger);
    let done = relay.run_once().await.unwrap();
    assert_eq!(caller.outcomes().await, expected);
    assert_eq!((done.accepted, done.left), (6, 0));
    assert_eq!(told.counted("refused"), u64::try_from(done.refused).ok());
    // A key that only poison used is not used up.
    assert!(matches!(push(&bed.ledger, "k", 1).await, Outcome::New(_)));
}

async fn a_row_that_the_database_refuses_stays_new_and_blocks_nobody(bed: Bed) {
    let caller = Caller::of(&bed).await;
    for key in ["one", "two", "three"] {
        caller.pays(key, 1).await;
    }
    let (refuse, allow) = if bed.is_postgres() {
        (
            "ALTER TABLE submission_ledger ADD CONSTRAINT odd CHECK (idempotency_key <> 'two')",
            "ALTER TABLE submission_ledger DROP CONSTRAINT odd",
        )
    } else {
        (
            "CREATE TRIGGER odd BEFORE INSERT ON submission_ledger WHEN NEW.idempotency_key = 'two' \
             BEGIN SELECT RAISE(ABORT, 'odd'); END",
            "DROP TRIGGER odd",
        )
    };
    bed.sql(refuse).await;
    let (mut first, told) = relay(&bed.ledger);
    let done = first.run_once().await.unwrap();
    assert_eq!((done.accepted, done.refused, done.left), (2, 0, 1));
    assert_eq!(caller.outcomes().await, [accepted(), new(), accepted()]);
    assert_eq!(told.counted("failed"), Some(1));
    // It was put aside: what comes meanwhile goes together again.
    caller.pays("four", 1).await;
    assert_eq!(first.run_once().await.unwrap().left, 0);
    bed.sql(allow).await;
    let (mut later, _told) = relay(&bed.ledger);
    assert_eq!(later.run_once().await.unwrap().accepted, 1);
    assert_eq!(caller.outcomes().await, vec![accepted(); 4]);
}

async fn of_many_relays_at_once_no_two_take_the_same_intent_in(bed: Bed) {
    const KEYS: u32 = 600;
    let caller = Caller::of(&bed).await;
    for _ in 0..2 {
        for key in 0..KEYS {
            caller.pays(&format!("key-{key}"), 1).await;
        }
    }
    let relays = (0..6).map(async |_| {
        let ledger = bed.another(RULES).await;
        let (mut relay, _told) = relay(&ledger);
        let mut mine = 0;
        // Another one may have all that is left in hand, and fail.
        while caller.outcomes().await.contains(&new()) {
            mine += relay.run_once().await.unwrap().accepted;
        }
        mine
    });
    let taken: Vec<usize> = join_all(relays).await;
    assert_eq!(taken.iter().sum::<usize>(), 2 * KEYS as usize, "{taken:?}");
    let rows = caller.rows().await;
    let ids: BTreeSet<_> = rows.iter().map(|row| row.submission.unwrap()).collect();
    assert_eq!(ids.len(), KEYS as usize);
    assert_eq!(submissions(&bed.ledger).await, KEYS as usize);
}

/// As over HTTP: what is taken in waits in the ledger, which hands nothing out.
async fn a_ledger_that_was_set_back_takes_intents_in_and_claims_none(bed: Bed) {
    bed.channels(1).await;
    bed.ledger.stop("the test says so").await.unwrap();
    let caller = Caller::of(&bed).await;
    caller.pays("key", 1).await;
    let (mut relay, _told) = relay(&bed.ledger);
    assert_eq!(relay.run_once().await.unwrap().accepted, 1);
    assert!(matches!(
        push(&bed.ledger, "pushed", 1).await,
        Outcome::New(_)
    ));
    let id = caller.rows().await[0].submission.unwrap();
    let claimed = bed.ledger.claim(SubmissionId(id)).await;
    assert!(matches!(claimed, Err(LedgerError::MemoryLost(_))));
}

async fn the_table_is_not_taken_away_while_it_holds_new_intents(bed: Bed) {
    let caller = Caller::of(&bed).await;
    // So that this is what refuses, and not the submissions.
    caller.write("acme", Some("key"), "{").await;
    let refused = bed.ledger.migrate_down(None).await.unwrap_err();
    assert!(refused.to_string().contains("outbox"), "{refused}");
    let (mut relay, _told) = relay(&bed.ledger);
    relay.run_once().await.unwrap();
    caller.0.close().await.unwrap();
    bed.ledger.migrate_down(None).await.unwrap();
}

on_both!(
    a_row_becomes_the_submission_that_http_would_have_made,
    the_same_key_gives_the_same_submission_whichever_way_it_came,
    poison_is_parked_with_its_reason_and_blocks_nobody,
    a_row_that_the_database_refuses_stays_new_and_blocks_nobody,
    of_many_relays_at_once_no_two_take_the_same_intent_in,
    a_ledger_that_was_set_back_takes_intents_in_and_claims_none,
    the_table_is_not_taken_away_while_it_holds_new_intents,
);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_away_intents_stay_new() {
    let mut server = block_in_place(Postgres::start);
    let url = block_in_place(|| server.create_database());
    let ledger = Ledger::connect(&url, 4, RULES).await.unwrap();
    ledger.migrate_up().await.unwrap();
    let write = format!(
        "INSERT INTO outbox (tenant, idempotency_key, payload) VALUES ('acme', 'key', '{}')",
        payment(1)
    );
    block_in_place(|| server.psql(&url, &write));
    block_in_place(|| server.stop());
    let (mut relay, told) = relay(&ledger);
    let error = relay.run_once().await.unwrap_err();
    assert!(matches!(error, LedgerError::Unavailable(_)), "{error}");
    for outcome in ["accepted", "refused", "failed"] {
        assert_eq!(told.counted(outcome), Some(0), "nothing was settled");
    }
    block_in_place(|| server.start_again());
    let state = || block_in_place(|| server.psql(&url, "SELECT state FROM outbox"));
    assert_eq!(state(), "new");
    assert_eq!(relay.run_once().await.unwrap().accepted, 1);
    assert_eq!(state(), "accepted");
}
