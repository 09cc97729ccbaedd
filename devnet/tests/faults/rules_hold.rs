//! Whatever goes wrong, the chain keeps its rules, and the same seed gives the same run.

use crate::common::{Key, LUMEN, config, create, pay, root, signed, transaction};
use crate::support::base64;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use std::collections::HashSet;
use stellar_xdr::{LedgerEntryData, Preconditions, TimeBounds, TimePoint, TransactionEnvelope};
use tender_devnet::faults::{
    CallRule, CloseFault, Fault, FaultPlan, Hashes, Loss, Malformed, Release, Rule, When,
};
use tender_devnet::history::ClosedLedger;
use tender_devnet::network::Network;
use tender_devnet::node::{DevNode, Pace};
use tender_devnet::rpc::{FrontEnd, Reply};

const PAYERS: usize = 8;
const STEPS: usize = 400;

/// Every fault, each for a share of what it concerns.
fn everything() -> Vec<Rule> {
    let calls = [
        Fault::AnswerLostAfterAccept(Loss::Reset),
        Fault::AnswerLostBeforeAccept(Loss::RpcInternal),
        Fault::UnknownStatus { taken: true },
        Fault::TryAgainLater { taken: false },
        Fault::BadSequence { ledgers: 2 },
        Fault::Held {
            until: Release::LastValid,
            dropped: true,
        },
        Fault::Held {
            until: Release::After(2),
            dropped: false,
        },
        Fault::IndexLag { ledgers: 3 },
        Fault::Lag { ledgers: 5 },
        Fault::ShortHistory { ledgers: 4 },
        Fault::Slow { ms: 10 },
        Fault::WrongHash,
        Fault::Malformed(Malformed::Truncated),
        Fault::Oversized { bytes: 2000 },
    ];
    let closes = [
        CloseFault::Empty { ledgers: 1 },
        CloseFault::FeeSurge {
            min_bid: 150,
            ledgers: 2,
            queue_full: true,
        },
        CloseFault::Skew {
            seconds: 40,
            ledgers: 3,
        },
        CloseFault::Skew {
            seconds: -40,
            ledgers: 3,
        },
        CloseFault::Stall { intervals: 2 },
    ];
    let calls = calls.into_iter().map(|fault| {
        Rule::Call(CallRule {
            methods: Vec::new(),
            hashes: Hashes::Any,
            when: When::Share(80),
            fault,
        })
    });
    let closes = closes
        .into_iter()
        .map(|fault| Rule::close(fault, When::Share(100)));
    calls.chain(closes).collect()
}

fn payment(payer: &Key, sequence: i64, bid: u32, until: u64) -> TransactionEnvelope {
    let mut tx = transaction(payer, sequence, bid, vec![pay(&root(), 1)]);
    tx.cond = Preconditions::Time(TimeBounds {
        min_time: TimePoint(0),
        max_time: TimePoint(until),
    });
    TransactionEnvelope::Tx(signed(&tx, &[payer]))
}

/// Sends, asks and closes at random through a front end; everything it said.
fn run(seed: u64) -> (DevNode, Vec<Reply>) {
    let node = DevNode::start(config(), Pace::ByHand);
    let payers: Vec<Key> = (0..PAYERS)
        .map(|n| Key::named(&format!("payer {n}")))
        .collect();
    let accounts = payers.iter().map(|key| create(key, LUMEN * 10)).collect();
    let tx = transaction(&root(), 1, 800, accounts);
    let params = json!({"transaction": base64(&signed_by_root(&tx))});
    node.call("sendTransaction", params).unwrap();
    node.close_ledger();
    node.set_faults(FaultPlan::ruled(seed, everything()).unwrap());
    let front = FrontEnd::new(node.clone()).with_lags(&[0, 2]);
    let mut random = StdRng::seed_from_u64(seed);
    let (mut replies, mut hashes) = (Vec::new(), vec!["00".repeat(32)]);
    for _ in 0..STEPS {
        let (method, params) = match random.random_range(0..6) {
            0 | 1 => {
                let payer = &payers[random.random_range(0..PAYERS)];
                let current = node.inspect(|network| sequence_of(network, payer));
                let sequence = current + random.random_range(0..3);
                let until = node.latest().borrow().close_time + random.random_range(5..120);
                let bid = random.random_range(100..300);
                let envelope = payment(payer, sequence, bid, until);
                ("sendTransaction", json!({"transaction": base64(&envelope)}))
            }
            2 => {
                let hash = &hashes[random.random_range(0..hashes.len())];
                ("getTransaction", json!({"hash": hash}))
            }
            3 => ("getEvents", json!({"startLedger": 11})),
            4 => (
                "getLedgerEntries",
                json!({"keys": [base64(&payers[0].entry_key())]}),
            ),
            _ => {
                node.close_ledger();
                continue;
            }
        };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let reply = front.reply(body.to_string().as_bytes(), None);
        if let tender_devnet::rpc::Body::Answer(answer) = &reply.body
            && let Some(hash) = answer["result"]["hash"].as_str()
        {
            hashes.push(hash.to_owned());
        }
        replies.push(reply);
    }
    (node, replies)
}

fn signed_by_root(tx: &stellar_xdr::Transaction) -> TransactionEnvelope {
    TransactionEnvelope::Tx(signed(tx, &[&root()]))
}

fn sequence_of(network: &Network, key: &Key) -> i64 {
    match &network.entry(&key.entry_key()).unwrap().data {
        LedgerEntryData::Account(account) => account.seq_num.0,
        _ => unreachable!("the key of an account"),
    }
}

/// Checks what must hold in every chain.
fn check(network: &Network) {
    let mut seen = HashSet::new();
    let mut sequences = HashSet::new();
    let mut before: Option<&ClosedLedger> = None;
    for ledger in network.ledgers() {
        if let Some(before) = before {
            assert_eq!(ledger.sequence(), before.sequence() + 1);
            assert!(ledger.close_time() > before.close_time());
            assert_eq!(ledger.header.previous_ledger_hash, before.hash);
        }
        let mut sources = HashSet::new();
        for tx in &ledger.transactions {
            assert!(seen.insert(tx.hash.clone()), "twice in the chain");
            let TransactionEnvelope::Tx(envelope) = &tx.envelope else {
                panic!("no fee-bumps were sent");
            };
            assert!(sources.insert(&envelope.tx.source_account));
            let pair = (&envelope.tx.source_account, envelope.tx.seq_num.0);
            assert!(sequences.insert(pair), "a sequence number was used twice");
            if let Preconditions::Time(bounds) = &envelope.tx.cond {
                assert!(bounds.max_time.0 >= ledger.close_time());
            }
            assert!(tx.fee_charged() <= i64::from(envelope.tx.fee));
        }
        before = Some(ledger);
    }
    let pool = before.unwrap().header.fee_pool;
    let held: i64 = network
        .entries()
        .map(|entry| match &entry.data {
            LedgerEntryData::Account(account) => account.balance,
            _ => 0,
        })
        .sum();
    assert_eq!(held + pool, 1_000_000_000_000_000_000);
}

#[test]
fn the_chain_keeps_its_rules_under_all_faults_at_once() {
    let mut included = 0;
    for seed in 0..20 {
        let (node, _) = run(seed);
        node.inspect(check);
        included += node.inspect(|network| {
            let count = |ledger: &ClosedLedger| ledger.transactions.len();
            network.ledgers().map(count).sum::<usize>()
        });
        let report = node.faults();
        assert!(report.rules.iter().filter(|rule| rule.fired > 0).count() > 12);
    }
    assert!(included > 200, "{included} transactions got in");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let last =
        |node: &DevNode| node.inspect(|network| network.ledgers().last().unwrap().hash.clone());
    let ((first, said), (second, again)) = (run(3), run(3));
    assert_eq!(said, again);
    assert_eq!(last(&first), last(&second));
    assert_eq!(first.faults(), second.faults());
    let (other, others) = run(4);
    assert_ne!(said, others);
    assert_ne!(last(&first), last(&other));
}
