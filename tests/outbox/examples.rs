//! The examples do what they say: what they roll back is not paid, what they commit is.

use tender::domain::ids::SubmissionId;
use tokio::task::block_in_place;

use crate::bed::Bed;
use crate::support::postgres::Postgres;
use crate::table::{Caller, accepted, relay};

#[path = "../../examples/outbox/main.rs"]
#[allow(dead_code, reason = "its `main` is not called")]
mod rust;

const SQL: &str = include_str!("../../examples/outbox/outbox.sql");

/// One intent is there, that of the invoice which is there too, and it is taken in.
async fn paid(bed: &Bed, invoice: i64) {
    assert_eq!(bed.number("SELECT count(*) FROM invoice").await, 1);
    assert_eq!(
        bed.number("SELECT CAST(number AS BIGINT) FROM invoice")
            .await,
        invoice
    );
    let (mut relay, _told) = relay(&bed.ledger);
    relay.run_once().await.unwrap();
    let caller = Caller::of(bed).await;
    assert_eq!(caller.outcomes().await, [accepted()]);
    let id = caller.rows().await[0].submission.unwrap();
    let key = bed.row(SubmissionId(id)).await.key;
    assert_eq!(key.as_str(), format!("invoice-{invoice}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rust_example_pays_what_it_commits() {
    let bed = Bed::postgres().await;
    rust::demonstrate(&bed.url).await.unwrap();
    paid(&bed, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rust_example_works_on_sqlite_too() {
    let bed = Bed::sqlite().await;
    rust::demonstrate(&bed.url).await.unwrap();
    paid(&bed, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sql_example_pays_what_it_commits() {
    let bed = Bed::postgres().await;
    block_in_place(|| Postgres::shared().psql_script(&bed.url, SQL));
    paid(&bed, 12).await;
}
