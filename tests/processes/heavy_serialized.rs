//! All submissions share one account: two workers hand its sequences out, one is killed, and Redis forgets everything.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::block_in_place;

use crate::deployment::Deployment;

const PAYMENTS: u32 = 30;
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_account_pays_everybody_once_though_a_worker_dies_and_redis_forgets() {
    let strategy = [("SEQUENCE_STRATEGY", "serialized")];
    let deployment = Deployment::start_with(1, &strategy).await;
    let api = deployment.api();
    let mut workers = deployment.workers(2);
    let _reconcilers = deployment.reconcilers(2);
    let payments = deployment.payments(0..PAYMENTS);
    let load = deployment.load(&api, payments.clone(), 1, 4).start();
    deployment
        .confirmed(u64::from(PAYMENTS / 3), PATIENCE)
        .await;
    workers[0].kill9();
    block_in_place(|| deployment.redis.flushall());
    load.done().await;
    deployment.confirmed(u64::from(PAYMENTS), PATIENCE).await;
    deployment.assert_paid_once(&payments).await;
    let by_ledger: BTreeMap<_, _> = deployment.audit().by_ledger();
    assert!(
        by_ledger.values().all(|paid| *paid <= 1),
        "the network takes one of an account: {by_ledger:?}"
    );
    let pairs = "SELECT count(DISTINCT (source_account, sequence)) FROM submission_ledger";
    let pairs = deployment.postgres.psql(&deployment.database, pairs);
    assert_eq!(pairs, PAYMENTS.to_string());
    let verified = deployment.command(&["channels", "verify"]);
    assert_eq!(verified, ["1 channel accounts, 0 to look at"]);
}
