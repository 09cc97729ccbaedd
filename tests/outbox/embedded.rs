//! The embedded stack has a relay too.

use std::time::Duration;

use sea_orm::Database;
use tender::config::{EmbeddedConfig, Source};
use tender::domain::submission::Status;
use tender::ledger::ListFilter;
use tender::outbox::enqueue;
use tender::role::embedded::{Setup, Stack, TENANT, fresh_signer};
use tokio_util::sync::CancellationToken;

use crate::table::payment;
use crate::waiting::{until, when};

const CLOSE: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_stack_pays_what_is_written_to_its_outbox() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("tender.sqlite");
    let config = EmbeddedConfig::load(&Source::default(), CLOSE).unwrap();
    let setup = Setup {
        database: &database,
        channels: 1,
        close: CLOSE,
        bind: ([127, 0, 0, 1], 0).into(),
    };
    let shutdown = CancellationToken::new();
    let stack = Stack::start(&config, setup, &shutdown).await.unwrap();
    let payee = fresh_signer().account();
    stack.create_accounts(&[payee]).await.unwrap();
    let mut request = payment(5);
    request["operation"]["destination"] = payee.to_string().into();
    let url = format!("sqlite:{}", database.display());
    let caller = Database::connect(&url).await.unwrap();
    enqueue(&caller, TENANT, "key", &request).await.unwrap();
    until("the payment to be confirmed", PATIENCE, async || {
        let rows = stack.ledger.list(&ListFilter::default(), None, 10).await;
        let rows = rows.unwrap().0;
        let statuses: Vec<_> = rows.iter().map(|row| row.state.status).collect();
        when(statuses == [Status::Confirmed], statuses)
    })
    .await;
    caller.close().await.unwrap();
    stack.stop().await;
}
