//! A commit that was answered is on the disk; one whose answer was lost is said to be unknown; and the failure of one
//! piece of work is its own.

use sea_orm::{ConnectionTrait, TransactionTrait};
use tender::domain::ids::SubmissionId;
use tender::domain::submission::Event;
use tender::ledger::{Applied, Change, Ledger, LedgerError, NewKey};

use crate::bed::{Bed, RULES, new};
use crate::support::port;
use crate::support::postgres::Postgres;

/// Makes every commit fail that logged a transition, at the commit itself.
fn failing_commits(bed: &Bed) -> Vec<String> {
    if bed.is_postgres() {
        return vec![
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'".to_owned(),
            "CREATE CONSTRAINT TRIGGER failing AFTER INSERT ON submission_log DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION fail()"
                .to_owned(),
        ];
    }
    vec![
        "CREATE TABLE parents (id INTEGER PRIMARY KEY)".to_owned(),
        "CREATE TABLE orphans (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)".to_owned(),
        "CREATE TRIGGER failing AFTER INSERT ON submission_log BEGIN INSERT INTO orphans VALUES (1); END".to_owned(),
    ]
}

async fn a_commit_that_fails_is_unknown_and_the_next_one_works(bed: Bed) {
    bed.channels(1).await;
    let row = bed.confirming("key").await;
    for sql in failing_commits(&bed) {
        bed.sql(&sql).await;
    }
    let change = Change::new(&row, Event::Succeeded, "test");
    let error = bed.ledger.apply(change.clone()).await.unwrap_err();
    assert!(matches!(error, LedgerError::CommitUnknown(_)), "{error}");
    assert_eq!(bed.row(row.id).await.version, row.version);
    bed.accept("bystander").await;
    let drop = if bed.is_postgres() {
        "DROP TRIGGER failing ON submission_log"
    } else {
        "DROP TRIGGER failing"
    };
    bed.sql(drop).await;
    assert!(matches!(
        bed.ledger.apply(change).await.unwrap(),
        Applied::Done(_)
    ));
}

fn key(id: String) -> NewKey {
    NewKey {
        id,
        tenant: "acme".parse().unwrap(),
        secret_hash: [7; 32],
        scopes: Vec::new(),
        name: "name".to_owned(),
    }
}

async fn a_job_that_fails_does_not_spoil_its_batch(bed: Bed) {
    bed.ledger.add_key(key("taken".to_owned())).await.unwrap();
    // While somebody else holds the file, whatever comes waits and then shares commits.
    let raw = bed.raw().await;
    let held = raw.begin().await.unwrap();
    held.execute_unprepared("UPDATE api_keys SET name = 'held' WHERE id = 'none'")
        .await
        .unwrap();
    let jobs: Vec<_> = (0..60)
        .map(|n| {
            let ledger = bed.ledger.clone();
            let key = key(if n % 3 == 0 {
                "taken".to_owned()
            } else {
                format!("key-{n}")
            });
            tokio::spawn(async move { ledger.add_key(key).await })
        })
        .collect();
    tokio::task::yield_now().await;
    held.commit().await.unwrap();
    for (n, job) in jobs.into_iter().enumerate() {
        match job.await.unwrap() {
            Ok(()) => assert_ne!(n % 3, 0),
            Err(LedgerError::Corrupt(_)) => assert_eq!(n % 3, 0),
            Err(other) => panic!("{n}: {other}"),
        }
    }
    assert_eq!(bed.ledger.list_keys().await.unwrap().len(), 41);
}

async fn what_was_answered_is_there_after_everybody_left(bed: Bed) {
    let row = bed.accept("key").await;
    let again = bed.another(RULES).await;
    drop(bed.ledger);
    assert_eq!(
        again.submission(row.id).await.unwrap().unwrap().key,
        row.key
    );
}

on_both!(
    a_commit_that_fails_is_unknown_and_the_next_one_works,
    a_job_that_fails_does_not_spoil_its_batch,
    what_was_answered_is_there_after_everybody_left,
);

async fn refusal(url: &str) -> LedgerError {
    match Ledger::connect(url, 2, RULES).await {
        Ok(_) => panic!("{url} was accepted"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_database_that_may_forget_commits_is_refused() {
    let bed = Bed::bare_postgres().await;
    let by_url = format!("{}?options=-c%20synchronous_commit%3Doff", bed.url);
    let error = refusal(&by_url).await;
    assert!(
        matches!(&error, LedgerError::Unfit(why) if why.contains("synchronous_commit")),
        "{error}"
    );
    let name = bed.url.rsplit('/').next().unwrap();
    bed.sql(&format!(
        "ALTER DATABASE {name} SET synchronous_commit = off"
    ))
    .await;
    let error = refusal(&bed.url).await;
    assert!(matches!(&error, LedgerError::Unfit(_)), "{error}");
    // On the primary's disk alone it does not survive a failover.
    bed.sql(&format!(
        "ALTER DATABASE {name} SET synchronous_commit = local"
    ))
    .await;
    let error = refusal(&bed.url).await;
    assert!(matches!(&error, LedgerError::Unfit(_)), "{error}");
    bed.sql(&format!(
        "ALTER DATABASE {name} SET synchronous_commit = remote_apply"
    ))
    .await;
    Ledger::connect(&bed.url, 2, RULES).await.unwrap();
}

#[tokio::test]
async fn connections_stay_durable_whatever_the_database_is_told_later() {
    let bed = Bed::postgres().await;
    let name = bed.url.rsplit('/').next().unwrap();
    bed.sql(&format!(
        "ALTER DATABASE {name} SET synchronous_commit = off"
    ))
    .await;
    bed.sql(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN NEW.name := current_setting(''synchronous_commit''); RETURN NEW; END'",
    )
    .await;
    bed.sql("CREATE TRIGGER noting BEFORE INSERT ON api_keys FOR EACH ROW EXECUTE FUNCTION note()")
        .await;
    // So many at once need new connections.
    let calls = (0..12).map(|n| bed.ledger.add_key(key(format!("key-{n}"))));
    futures::future::try_join_all(calls).await.unwrap();
    let keys = bed.ledger.list_keys().await.unwrap();
    assert_eq!(keys.len(), 12);
    assert!(keys.iter().all(|key| key.name == "on"), "{keys:?}");
}

#[tokio::test]
async fn urls_that_name_no_durable_database_are_refused() {
    for url in [
        "sqlite::memory:",
        "sqlite:x?mode=memory",
        "mysql://root@localhost/x",
        "nonsense",
        "",
    ] {
        let error = refusal(url).await;
        assert!(matches!(error, LedgerError::Unfit(_)), "{url}: {error}");
    }
    let nobody = format!("postgres://postgres@127.0.0.1:{}/x", port::free());
    let error = refusal(&nobody).await;
    assert!(matches!(error, LedgerError::Unavailable(_)), "{error}");
}

#[tokio::test]
async fn a_server_that_dies_makes_writes_unavailable_and_comes_back() {
    let mut server = tokio::task::spawn_blocking(Postgres::start).await.unwrap();
    let ledger = Ledger::connect(&server.create_database(), 4, RULES)
        .await
        .unwrap();
    ledger.migrate_up().await.unwrap();
    let ids = (0..8).map(|_| SubmissionId(uuid::Uuid::new_v4()));
    let claims = ids.map(|id| ledger.claim(id));
    futures::future::try_join_all(claims).await.unwrap();
    let server = tokio::task::spawn_blocking(move || {
        server.kill9();
        server
    });
    let mut server = server.await.unwrap();
    let error = ledger.accept(new("meanwhile")).await.unwrap_err();
    assert!(matches!(error, LedgerError::Unavailable(_)), "{error}");
    let _server = tokio::task::spawn_blocking(move || {
        server.start_again();
        server
    })
    .await
    .unwrap();
    // Every connection of the pool is dead, and nobody notices.
    ledger.accept(new("after")).await.unwrap();
    ledger.ping().await.unwrap();
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_not_ready() {
    let server = tokio::task::spawn_blocking(Postgres::shared).await.unwrap();
    let url = server.create_database();
    let ledger = Ledger::connect(&url, 2, RULES).await.unwrap();
    ledger.migrate_up().await.unwrap();
    ledger.ping().await.unwrap();
    let name = url.rsplit('/').next().unwrap();
    let read_only = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    server.psql(&url, &read_only);
    let ledger = Ledger::connect(&url, 2, RULES).await.unwrap();
    ledger.now().await.unwrap();
    let errors = [
        ledger.ping().await.unwrap_err(),
        ledger.accept(new("refused")).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, LedgerError::Unavailable(_)), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_keeps_silent_is_unavailable_and_not_waited_for_for_ever() {
    let mut server = tokio::task::spawn_blocking(Postgres::start).await.unwrap();
    let ledger = Ledger::connect(&server.create_database(), 4, RULES)
        .await
        .unwrap();
    ledger.migrate_up().await.unwrap();
    ledger.accept(new("before")).await.unwrap();
    server.pause();
    let (read, written) = tokio::join!(ledger.ping(), ledger.accept(new("meanwhile")));
    assert!(matches!(read, Err(LedgerError::Unavailable(_))), "{read:?}");
    assert!(
        matches!(written, Err(LedgerError::Unavailable(_))),
        "{written:?}"
    );
    server.resume();
    ledger.accept(new("after")).await.unwrap();
}
