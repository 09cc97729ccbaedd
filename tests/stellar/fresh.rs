//! Sequence numbers that enter the pool are those of now.

use std::sync::Arc;

use serde_json::json;
use tender::domain::classify::Fault;
use tender::domain::ids::AccountId;
use tender::domain::plan::AccountState;
use tender::flow::chain::Chain;
use tender::flow::fresh::{self, NotFresh};
use tender::flow::provision::{ProvisionError, Provisioner};
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::Seen;
use tender::stellar::signer::Signer;

use crate::nodes::{at, network_or};
use crate::support::{NEVER, PASSPHRASE, Reply, Server, client, dead_url};

const ACCOUNT: AccountId = AccountId([1; 32]);

/// A node whose accounts are as of another ledger than its last one.
async fn node(ledger: u32, accounts_at: u32) -> Server {
    Server::start(network_or(move |method, _| match method {
        "getLedgerEntries" => Reply::Result(json!({ "entries": [], "latestLedger": accounts_at })),
        _ => at(ledger),
    }))
    .await
}

#[tokio::test]
async fn accounts_are_read_from_the_node_that_is_furthest_on() {
    let (behind, ahead) = (node(8, 8).await, node(10, 10).await);
    let urls = [dead_url().await, behind.url(), ahead.url()];
    let (rpc, chain) = (client(&urls, NEVER, NEVER), Chain::default());
    let found = fresh::accounts(&rpc, &chain, &[ACCOUNT]).await;
    assert_eq!(found, Ok(vec![(ACCOUNT, AccountState::Absent)]));
    assert_eq!(chain.latest().map(|seen| seen.ledger), Some(10));
}

#[tokio::test]
async fn without_any_answer_there_is_no_state() {
    let rpc = client(&[dead_url().await], NEVER, NEVER);
    let found = fresh::accounts(&rpc, &Chain::default(), &[ACCOUNT]).await;
    assert_eq!(found, Err(NotFresh::Network(Fault::Connect)));
}

#[tokio::test]
async fn states_from_behind_the_highest_ledger_seen_do_not_enter_the_pool() {
    let lags = node(10, 9).await;
    let chain = Arc::new(Chain::default());
    let rpc = lags.client();
    let found = fresh::accounts(&rpc, &chain, &[ACCOUNT]).await;
    assert_eq!(found, Err(NotFresh::Lagging(10)));
    chain.observe(Seen {
        ledger: 12,
        close_time: 60,
    });
    let (network, treasury) = (NetworkId::new(PASSPHRASE), Signer::from_seed(&[2; 32]));
    let provisioner = Provisioner::new(rpc, chain, network, treasury, 100);
    let refused = provisioner.accounts(&[ACCOUNT], 10_000_000).await;
    assert!(
        matches!(refused, Err(ProvisionError::Lagging(12))),
        "{refused:?}"
    );
}
