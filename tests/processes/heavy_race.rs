//! A cancel and a claim for the same row at the same moment, a thousand times: whoever wins, the row says what the
//! chain says.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt as _, future::join, stream};
use secrecy::SecretString;
use tender::{
    app::staff_rules,
    domain::{ids::SubmissionId, submission::Budget},
    flow::{
        accept::{self, Outcome},
        chain::Chain,
        reason::Reason,
        send::{SendDelays, Sender},
        submit::{SubmitSettings, Submitted, Submitter},
        withdraw::{self, Withdrawn},
    },
    ledger::{Ledger, Rules},
    stellar::{
        channels,
        keyring::{Identity, KeyRing},
        network::NetworkId,
        rpc::Rpc,
    },
};

use crate::{
    client::Payment,
    deployment::{CLOSE, Deployment, PASSPHRASE, TENANT},
    waiting::{until, when},
};

const RACES: u32 = 1_000;
/// Races between two looks at what became of them; as many as there are channels.
const WAVE: u32 = 100;
/// Races at once.
const AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);

/// A worker within the test, so that the test decides when it claims.
async fn submitter(deployment: &Deployment) -> Submitter {
    let rules = Rules {
        budget: Budget {
            transient_failures: 5,
            claims: 20,
        },
        resend_after: CLOSE,
        ..staff_rules()
    };
    let ledger = Ledger::connect(&deployment.database, 16, rules)
        .await
        .unwrap();
    let network = NetworkId::new(PASSPHRASE);
    let seed = SecretString::from(deployment.channel_seed.clone());
    let channels = (0..WAVE).map(|index| channels::derive(&seed, index).unwrap());
    let treasury = deployment.treasury.clone();
    let keys = KeyRing::new(treasury.clone(), treasury.account(), channels.collect()).unwrap();
    let rpc = Rpc::new(
        network.clone(),
        &[deployment.rpc_url().to_owned()],
        PATIENCE,
        PATIENCE,
    );
    let chain = Arc::new(Chain::default());
    let delays = SendDelays::new(CLOSE, Duration::from_secs(5));
    let sender = Sender::new(ledger.clone(), rpc.unwrap(), Arc::clone(&chain), delays);
    let identity = Identity {
        network,
        treasury: treasury.account(),
    };
    let settings = SubmitSettings {
        base_fee: 100,
        max_fee: 10_000,
        confirmation_timeout_s: 60,
    };
    Submitter::new(ledger, Arc::new(sender), identity, keys, chain, settings)
}

/// One race; what the two were told.
async fn race(
    deployment: &Deployment,
    submitter: &Submitter,
    payment: Payment,
) -> (Payment, SubmissionId, bool, bool) {
    let ledger = &deployment.ledger;
    let tenant = TENANT.parse().unwrap();
    let request = accept::parse(&payment.request()).unwrap();
    let accepted = accept::accept(ledger, &tenant, &payment.key(), &request).await;
    let Outcome::New(row) = accepted.unwrap() else {
        panic!("the key is new");
    };
    let reason: Reason = "the test asks".parse().unwrap();
    let cancel = withdraw::cancel(ledger, row.id, &reason, "test");
    let submit = async {
        // A head start for the canceller, of none to a few round trips.
        for _ in 0..payment.number % 4 {
            ledger.now().await.unwrap();
        }
        submitter.submit(row.id).await.unwrap()
    };
    let (withdrawn, submitted) = join(cancel, submit).await;
    let cancelled = matches!(withdrawn.unwrap(), Withdrawn::Done(_));
    (payment, row.id, cancelled, submitted == Submitted::Sent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cancel_that_races_a_claim_ends_as_the_chain_says() {
    let deployment = Deployment::start(WAVE).await;
    let _reconcilers = deployment.reconcilers(1);
    let submitter = submitter(&deployment).await;
    let mut tally = BTreeMap::new();
    for wave in 0..RACES / WAVE {
        let payments = deployment.payments(wave * WAVE..(wave + 1) * WAVE);
        let races: Vec<_> = stream::iter(payments)
            .map(|payment| race(&deployment, &submitter, payment))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        until("every channel to be free", PATIENCE, async || {
            let pool = deployment.ledger.pool().await.unwrap();
            when(pool.free == u64::from(WAVE), pool)
        })
        .await;
        let audit = deployment.audit();
        for (payment, id, cancelled, sent) in races {
            let row = deployment.ledger.submission(id).await.unwrap().unwrap();
            let (status, effects) = (
                row.state.status.as_str(),
                audit.of_key(payment.expected().tag).len(),
            );
            assert_ne!(cancelled, sent, "{payment:?}: one of the two wins");
            let expected = if cancelled {
                ("cancelled", 0)
            } else {
                ("confirmed", 1)
            };
            assert_eq!((status, effects), expected, "{payment:?}");
            *tally.entry((status, effects)).or_insert(0) += 1;
        }
    }
    println!("{RACES} races on PostgreSQL (status, effects on the chain): {tally:?}");
    assert!(
        tally.len() == 2 && tally.values().all(|wins| *wins > RACES / 50),
        "hardly a race: {tally:?}"
    );
}
