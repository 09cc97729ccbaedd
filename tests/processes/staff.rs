//! Requeue and cancel over HTTP, where an answer that came too early would pay twice.

use std::{collections::BTreeMap, time::Duration};

use futures::{StreamExt as _, stream};
use tender::stellar::signer::Signer;
use tender_devnet::faults::FaultPlan;

use crate::{
    client::{Client, Payment},
    deployment::{CLOSE, Deployment, fund},
    hanging::{Lost, hanging},
    waiting::{until, when},
};

const PATIENCE: Duration = Duration::from_secs(60);

async fn status(client: &Client, id: &str, wanted: &str) {
    until(wanted, PATIENCE, async || {
        let row = client.read(id).await;
        when(row["status"] == wanted, row)
    })
    .await;
}

/// Requeue must be refused now, because the outcome is not known.
async fn refused(client: &Client, id: &str) {
    let (status, problem) = client.act(id, "requeue").await;
    println!(
        "requeue while an envelope is alive: {status} {}",
        problem["code"]
    );
    assert_eq!((status, &problem["code"]), (409, &"outcome_unknown".into()));
}

async fn requeued(client: &Client, id: &str) {
    let (status, row) = client.act(id, "requeue").await;
    println!("requeue after the proof: {status} {}", row["status"]);
    assert_eq!((status, &row["status"]), (200, &"pending".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_payment_that_failed_in_a_ledger_is_requeued_and_pays_once() {
    let deployment = Deployment::start(2).await;
    let api = deployment.api();
    let client = deployment.client(&api);
    let _roles = (deployment.workers(1), deployment.reconcilers(1));
    let to = Signer::from_seed(&rand::random()).account();
    let payment = Payment { number: 7, to };
    deployment.ledgers.stop();
    let id = client.push(payment).await;
    status(&client, &id, "confirming").await;
    refused(&client, &id).await;
    deployment.ledgers.resume(CLOSE);
    status(&client, &id, "failed").await;
    let row = client.read(&id).await;
    println!(
        "failed: {} {} {}",
        row["verdict"], row["category"], row["last_error"]
    );
    assert_eq!(deployment.figures(&[payment]).effects, 0);
    fund(&deployment.node, [to]).await;
    requeued(&client, &id).await;
    status(&client, &id, "confirmed").await;
    let again = client.act(&id, "requeue").await;
    assert_eq!(
        (again.0, &again.1["code"]),
        (409, &"already_effective".into())
    );
    println!("{:?}", deployment.assert_paid_once(&[payment]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_payment_whose_envelope_was_lost_is_requeued_after_the_proof_of_its_death() {
    let deployment = Deployment::start_with(2, &[("TX_MAX_TRANSIENT_RETRIES", "0")]).await;
    let api = deployment.api();
    let client = deployment.client(&api);
    let payment = deployment.payment(0);
    deployment.ledgers.stop();
    deployment.node.set_faults(hanging(Lost::BeforeAccept));
    let mut workers = deployment.workers(1);
    let id = client.push(payment).await;
    until("a send that never arrives", PATIENCE, async || {
        let lost = deployment.node.faults();
        when(lost.before_accept == 1, lost)
    })
    .await;
    workers[0].kill9();
    deployment.node.set_faults(FaultPlan::none());
    refused(&client, &id).await;
    // Past the envelope's last close time, in one ledger; and one more, to be seen closed before the account is.
    let sql = format!("SELECT max_time FROM submission_attempts WHERE submission_id = '{id}'");
    let max_time = deployment.postgres.psql(&deployment.database, &sql);
    deployment
        .node
        .close_ledger_at(max_time.parse::<u64>().unwrap() + 1);
    refused(&client, &id).await;
    let _reconcilers = deployment.reconcilers(1);
    status(&client, &id, "failed").await;
    let row = client.read(&id).await;
    println!(
        "failed: {} {} {}",
        row["verdict"], row["category"], row["evidence"]
    );
    assert_eq!(row["evidence"]["proof"], "account_state");
    deployment.ledgers.resume(CLOSE);
    let _workers = deployment.workers(1);
    requeued(&client, &id).await;
    status(&client, &id, "confirmed").await;
    println!("{:?}", deployment.assert_paid_once(&[payment]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelling_over_http_while_workers_claim_ends_as_the_chain_says() {
    const PAYMENTS: u32 = 120;
    let deployment = Deployment::start(6).await;
    let api = deployment.api();
    let client = deployment.client(&api);
    let _roles = (deployment.workers(2), deployment.reconcilers(1));
    let payments = deployment.payments(0..PAYMENTS);
    let answers: Vec<(u16, String)> = stream::iter(payments.clone())
        .map(|payment| {
            let client = client.clone();
            async move {
                let id = client.push(payment).await;
                let (status, answer) = client.act(&id, "cancel").await;
                let word = answer["code"].as_str().or(answer["status"].as_str());
                (status, word.unwrap_or_default().to_owned())
            }
        })
        .buffered(8)
        .collect()
        .await;
    until("every row to end", PATIENCE, async || {
        let counts = deployment.counts().await.unwrap_or_default();
        let ended = ["confirmed", "cancelled"].map(|status| counts.get(status).unwrap_or(&0));
        when(
            ended.into_iter().sum::<u64>() == u64::from(PAYMENTS),
            counts,
        )
    })
    .await;
    let audit = deployment.audit();
    let mut tally = BTreeMap::new();
    for (payment, (status, word)) in payments.iter().zip(answers) {
        let effects = audit.of_key(payment.expected().tag).len();
        let cancelled = status == 200;
        assert_eq!(
            effects,
            usize::from(!cancelled),
            "{payment:?}: {status} {word}"
        );
        *tally.entry((status, word, effects)).or_insert(0) += 1;
    }
    println!(
        "(answer to the cancel, effects on the chain): {tally:?}; rows {:?}",
        deployment.counts().await
    );
}
