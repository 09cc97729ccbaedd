//! Many workers at once, over PostgreSQL and a Redis that is flushed in the middle.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use tender::domain::ids::SubmissionId;
use tender::domain::submission::Budget;
use tender::flow::accept::{self, Outcome};
use tender::ledger::{ClaimOutcome, Ledger, Rules};

use crate::line::{allocator, shared};
use crate::net::{FIRST_SEQUENCE, Net, payee};
use crate::servers::servers;

const CROWD: usize = 64;

fn rules() -> Rules {
    Rules {
        budget: Budget {
            transient_failures: 3,
            claims: 3,
        },
        backoff: |_, _, _| Duration::ZERO,
        backoff_base: Duration::ZERO,
        backoff_max: Duration::ZERO,
        claim_ttl: Duration::from_secs(300),
        resend_after: Duration::ZERO,
        max_in_flight: None,
    }
}

async fn accept(ledger: &Ledger, number: usize) -> SubmissionId {
    let request = json!({"operation": {
        "type": "payment", "destination": payee().to_string(), "asset": "native", "amount": "1",
    }});
    let request = accept::parse(&request).unwrap();
    let (tenant, key) = (
        "acme".parse().unwrap(),
        format!("key-{number}").parse().unwrap(),
    );
    match accept::accept(ledger, &tenant, &key, &request)
        .await
        .unwrap()
    {
        Outcome::New(row) => row.id,
        other => panic!("the key is new: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_claimants_never_hold_the_same_sequence_though_redis_forgets_in_the_middle() {
    let (postgres, server) = tokio::task::spawn_blocking(servers).await.unwrap();
    let net = Net::start().await;
    let url = postgres.create_database();
    let ledger = Ledger::connect(&url, 16, rules()).await.unwrap();
    ledger.migrate_up().await.unwrap();
    ledger
        .add_channels(&[(shared(), FIRST_SEQUENCE)])
        .await
        .unwrap();
    // Two workers with a connection of their own.
    let depth = u32::try_from(CROWD).unwrap();
    let one = allocator(&ledger, &net, &server).await.with_depth(depth);
    let two = allocator(&ledger, &net, &server).await.with_depth(depth);
    let (workers, server) = ([Arc::new(one), Arc::new(two)], Arc::new(server));
    let mut rows = Vec::new();
    for number in 0..CROWD {
        rows.push(accept(&ledger, number).await);
    }
    let claims = rows.into_iter().enumerate().map(|(number, id)| {
        let (worker, server) = (Arc::clone(&workers[number % 2]), Arc::clone(&server));
        tokio::spawn(async move {
            loop {
                if number % 16 == 8 {
                    server.flushall();
                }
                if let (ClaimOutcome::Claimed(claim), turn) = worker.claim(id).await.unwrap() {
                    return (claim.pair.sequence, turn);
                }
            }
        })
    });
    let mut held = BTreeSet::new();
    for claim in join_all(claims).await {
        let (sequence, turn) = claim.unwrap();
        assert!(held.insert(sequence), "{sequence} is held twice");
        assert_eq!(turn, sequence == FIRST_SEQUENCE + 1);
    }
    let crowd = i64::try_from(CROWD).unwrap();
    let expected = FIRST_SEQUENCE + 1..=FIRST_SEQUENCE + crowd;
    assert_eq!(held, expected.collect(), "and there is no gap");
}
