use super::*;
use crate::domain::key::Fingerprint;
use crate::domain::operation::OperationKind;
use crate::domain::schedule::Priority;
use crate::domain::submission::{Budget, Status};
use crate::flow::send::SendDelays;
use crate::ledger::{Accepted, Channel, ChannelState, NewSubmission, Rules, Submission};
use crate::stellar::network::NetworkId;
use crate::stellar::rpc::Rpc;
use crate::stellar::signer::Signer;
use serde_json::json;

/// The sequence every channel account has on the chain.
const ON_CHAIN: i64 = 100;
/// A ledger of the network.
const SEEN: Seen = Seen {
    ledger: 7,
    close_time: 1_700_000_000,
};

/// A worker over a file of its own, with a network that is away.
struct Desk {
    ledger: Ledger,
    chain: Arc<Chain>,
    submitter: Submitter,
    _directory: tempfile::TempDir,
}

fn signer(number: u8) -> Signer {
    Signer::from_seed(&[number; 32])
}

impl Desk {
    /// The accounts of `pool`; the worker has the keys of `keys`.
    async fn new(pool: &[u8], keys: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ledger.sqlite");
        let rules = Rules {
            budget: Budget {
                transient_failures: 5,
                claims: 1,
            },
            backoff: |_, _, _| Duration::ZERO,
            backoff_base: Duration::ZERO,
            backoff_max: Duration::ZERO,
            claim_ttl: Duration::from_secs(30),
            resend_after: Duration::from_secs(5),
            max_in_flight: None,
        };
        let url = format!("sqlite:{}", file.display());
        let ledger = Ledger::connect(&url, 2, rules).await.unwrap();
        ledger.migrate_up().await.unwrap();
        let accounts = pool.iter().map(|n| (signer(*n).account(), ON_CHAIN));
        let accounts: Vec<_> = accounts.collect();
        ledger.add_channels(&accounts).await.unwrap();
        let network = NetworkId::new("a network that is away");
        // Port 1 of this host refuses connections at once.
        let nodes = ["http://127.0.0.1:1".to_owned()];
        let second = Duration::from_secs(1);
        let rpc = Rpc::new(network.clone(), &nodes, second, second).unwrap();
        let chain = Arc::new(Chain::default());
        let delays = SendDelays::new(second, second);
        let sender = Sender::new(ledger.clone(), rpc, Arc::clone(&chain), delays);
        let treasury = signer(200);
        let identity = Identity {
            network,
            treasury: treasury.account(),
        };
        let channels = keys.iter().map(|n| signer(*n)).collect();
        let keys = KeyRing::new(treasury.clone(), treasury.account(), channels).unwrap();
        let settings = SubmitSettings {
            base_fee: 100,
            max_fee: 10_000,
            confirmation_timeout_s: 120,
        };
        let submitter = Submitter::new(
            ledger.clone(),
            Arc::new(sender),
            identity,
            keys,
            Arc::clone(&chain),
            settings,
        );
        Self {
            ledger,
            chain,
            submitter,
            _directory: directory,
        }
    }

    /// A payment that is dispatched.
    async fn dispatched(&self) -> Submission {
        let payee = signer(201).account();
        let payload = json!({"operation": {
            "type": "payment",
            "destination": payee.to_string(),
            "amount": "1.0000000",
            "asset": "native",
        }});
        let new = NewSubmission {
            tenant: "acme".parse().unwrap(),
            key: "key".parse().unwrap(),
            kind: OperationKind::Payment,
            priority: Priority::Normal,
            business_ref: None,
            fingerprint: Fingerprint::of(payload.to_string().as_bytes()),
            payload,
        };
        let Accepted::New(row) = self.ledger.accept(new).await.unwrap() else {
            panic!("the key is new");
        };
        assert_eq!(self.take().await, 1);
        row
    }

    /// How many rows the feed would push.
    async fn take(&self) -> usize {
        let hour = Duration::from_secs(3600);
        self.ledger.take_due(10, hour).await.unwrap().len()
    }

    async fn row(&self, row: &Submission) -> Submission {
        self.ledger.submission(row.id).await.unwrap().unwrap()
    }

    async fn channel(&self, number: u8) -> Channel {
        let channels = self.ledger.channels().await.unwrap();
        let mut of_number = channels
            .into_iter()
            .filter(|it| it.account == signer(number).account());
        of_number.next().unwrap()
    }

    /// Nothing was claimed, and the feed does not push the row again at once.
    async fn assert_untouched(&self, before: &Submission) {
        let after = self.row(before).await;
        assert_eq!((after.state, after.version), (before.state, before.version));
        assert_eq!(self.take().await, 0, "it waits to be dispatched again");
        let pool = self.ledger.pool().await.unwrap();
        assert_eq!(pool.leased, 0);
    }
}

#[tokio::test]
async fn while_the_network_tells_no_time_nothing_is_claimed() {
    let desk = Desk::new(&[1], &[1]).await;
    let row = desk.dispatched().await;
    for _ in 0..5 {
        let submitted = desk.submitter.submit(row.id).await.unwrap();
        assert_eq!(submitted, Submitted::NoChainTime);
        desk.assert_untouched(&row).await;
    }
}

#[tokio::test]
async fn a_sighting_dates_an_envelope_unless_it_is_old() {
    let mut desk = Desk::new(&[1], &[1]).await;
    let row = desk.dispatched().await;
    desk.chain.observe(SEEN);
    desk.submitter.oldest = Duration::ZERO;
    desk.submitter.submit(row.id).await.unwrap();
    desk.assert_untouched(&row).await;
    desk.submitter.oldest = OLDEST;
    let sent = desk.submitter.submit(row.id).await.unwrap();
    assert_eq!(sent, Submitted::Sent);
    let attempts = desk.ledger.attempts(row.id).await.unwrap();
    assert_eq!(attempts[0].envelope.max_time, SEEN.close_time + 120);
}

#[tokio::test]
async fn a_channel_without_a_key_is_left_to_other_workers_and_the_row_goes_on_with_another() {
    const KEYED: u8 = 1;
    const KEYLESS: u8 = 2;
    let desk = Desk::new(&[KEYED, KEYLESS], &[KEYED]).await;
    desk.chain.observe(SEEN);
    let row = desk.dispatched().await;
    let keyed = signer(KEYED).account();
    assert!(desk.ledger.quarantine(keyed, "not yet").await.unwrap());
    let submitted = desk.submitter.submit(row.id).await.unwrap();
    assert_eq!(submitted, Submitted::NoKey);
    let after = desk.row(&row).await;
    let state = after.state;
    assert_eq!(
        (state.status, state.holds_pair, state.claims),
        (Status::Pending, false, 0),
        "no attempt is used"
    );
    assert!(after.next_attempt_at <= desk.ledger.now().await.unwrap());
    assert_eq!(desk.channel(KEYLESS).await.state, ChannelState::Free);
    let again = desk.submitter.submit(row.id).await.unwrap();
    assert_eq!(again, Submitted::NoChannel, "none that it can sign for");
    assert_eq!(desk.row(&row).await.version, after.version);
    // It goes on as soon as one of its own is free.
    let back = desk.ledger.release_verified(keyed, ON_CHAIN, "now");
    assert!(back.await.unwrap());
    assert_eq!(desk.take().await, 1);
    let sent = desk.submitter.submit(row.id).await.unwrap();
    assert_eq!(sent, Submitted::Sent);
    assert_eq!(desk.channel(KEYED).await.leased_by, Some(row.id));
}
