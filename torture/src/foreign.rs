//! Transactions that use a pair behind the service's back.

use secrecy::SecretString;
use serde_json::json;
use tender::domain::ids::{AccountId, Pair};
use tender::domain::key::KeyTag;
use tender::flow::accept;
use tender::stellar::envelope::{self, Recipe};
use tender::stellar::network::NetworkId;
use tender::stellar::{channels, signer::Signer};

use crate::deployment::{Deployment, PASSPHRASE, fund};
use crate::stage::Stage;

/// A tag that no key of a run has, except by an accident of 64 bits.
const STRANGER: KeyTag = KeyTag(1);
const FEE: i64 = 1_000;
const LIFE_S: u64 = 1_000;

/// The pair that a row holds.
pub fn pair_of(deployment: &Deployment, id: &str) -> Pair {
    let sql = format!("SELECT source_account, sequence FROM submission_ledger WHERE id = '{id}'");
    let row = deployment.postgres.psql(&deployment.database, &sql);
    let (account, sequence) = row.split_once('|').expect("two columns");
    Pair {
        account: account.parse().expect("an account"),
        sequence: sequence.parse().expect("a number"),
    }
}

/// Uses a pair for a payment of somebody else's, and waits until it is in a ledger.
pub fn consume(stage: &Stage, deployment: &Deployment, pair: Pair) {
    let payer = Signer::from_seed(&rand::random());
    stage.wait(fund(&deployment.node, [payer.account()]));
    let request = deployment.payment(0).request();
    let request = accept::parse(&request).expect("a request");
    let channel = signer_of(deployment, pair.account);
    let latest = *deployment.node.latest().borrow();
    let signed = stage
        .wait(envelope::build(Recipe {
            network: &NetworkId::new(PASSPHRASE),
            pair,
            channel: &channel,
            treasury: &payer,
            operation: &request.operation,
            tag: STRANGER,
            fee: FEE,
            max_time: latest.close_time + LIFE_S,
        }))
        .expect("an envelope");
    let sent = deployment
        .node
        .call("sendTransaction", json!({ "transaction": signed.xdr }));
    assert_eq!(sent.expect("an answer")["status"], "PENDING");
    ledgers_close(stage, deployment, 3);
}

/// Waits until so many more ledgers have closed.
pub fn ledgers_close(stage: &Stage, deployment: &Deployment, more: u32) {
    let mut latest = deployment.node.latest();
    let wanted = latest.borrow().sequence + more;
    let closed = stage.wait(async { latest.wait_for(|now| now.sequence >= wanted).await.is_ok() });
    assert!(closed, "ledgers close as long as the node lives");
}

fn signer_of(deployment: &Deployment, account: AccountId) -> Signer {
    let seed = SecretString::from(deployment.channel_seed.clone());
    let count = deployment.settings["STELLAR_CHANNEL_COUNT"]
        .parse()
        .unwrap();
    (0..count)
        .map(|index| channels::derive(&seed, index).expect("a key"))
        .find(|signer| signer.account() == account)
        .expect("the account is of the pool")
}
