//! Answers to a send that are wrong about what became of the envelope, or about what is wrong with it.

use crate::common::{Key, LUMEN, root, signed, transaction};
use crate::support::{Served, payment};
use serde_json::Value;
use stellar_xdr::{Limits, ReadXdr, TransactionEnvelope, TransactionResult};
use tender_devnet::faults::{CallRule, Fault, Hashes, Rule, When};
use tender_devnet::network::Network;

fn always(fault: Fault) -> Vec<Rule> {
    vec![Rule::call(fault, &[], When::Always)]
}

fn error_code(answer: &Value) -> &'static str {
    assert_eq!(answer["status"], "ERROR", "{answer}");
    let xdr = answer["errorResultXdr"].as_str().unwrap();
    let result = TransactionResult::from_xdr_base64(xdr, Limits::none()).unwrap();
    result.result.name()
}

#[tokio::test]
async fn a_status_is_not_what_the_node_did() {
    for taken in [true, false] {
        for (fault, status) in [
            (Fault::UnknownStatus { taken }, "ENQUEUED"),
            (Fault::TryAgainLater { taken }, "TRY_AGAIN_LATER"),
        ] {
            let served = Served::by_hand().await;
            served.rules(always(fault));
            let envelope = payment(1, &root(), 1);
            let answer = served.send(&envelope).await;
            assert_eq!(answer["status"], status);
            assert!(answer.get("errorResultXdr").is_none());
            assert_eq!(served.node.inspect(Network::pending), usize::from(taken));
            served.rules(Vec::new());
            let again = served.send(&envelope).await;
            let expected = if taken { "DUPLICATE" } else { "PENDING" };
            assert_eq!(again["status"], expected);
            assert_eq!(answer["hash"], again["hash"]);
        }
    }
}

#[tokio::test]
async fn a_sequence_number_is_called_bad_while_the_one_before_is_fresh() {
    let served = Served::by_hand().await;
    let other = Key::named("other");
    served.create(1, &[&other]).await;
    let operations = vec![crate::common::create(&other, 1_000_000_000)];
    let first = transaction(&root(), 1, 100, operations);
    let first = TransactionEnvelope::Tx(signed(&first, &[&root()]));
    // It was applied, so its bytes are banned.
    assert_eq!(served.send(&first).await["status"], "TRY_AGAIN_LATER");
    served.rules(always(Fault::BadSequence { ledgers: 3 }));
    let next = payment(2, &root(), 1);
    for _ in 0..3 {
        assert_eq!(error_code(&served.send(&next).await), "TxBadSeq");
        assert_eq!(error_code(&served.send(&first).await), "TxBadSeq");
        assert_eq!(served.node.inspect(Network::pending), 0);
        served.node.close_ledger();
    }
    assert_eq!(served.send(&next).await["status"], "PENDING");
    // An account that has used no sequence number yet has nothing before.
    let fresh = transaction(
        &other,
        (11 << 32) + 1,
        100,
        vec![crate::common::pay(&root(), 1)],
    );
    let fresh = TransactionEnvelope::Tx(signed(&fresh, &[&other]));
    assert_eq!(served.send(&fresh).await["status"], "PENDING");
}

#[tokio::test]
async fn an_answer_tells_the_hash_of_another_transaction() {
    let served = Served::by_hand().await;
    let envelope = payment(1, &root(), LUMEN);
    let hash = served.send_ok(&envelope).await;
    served.node.close_ledger();
    assert_eq!(served.look_up(&hash).await["txHash"], *hash);
    served.rules(always(Fault::WrongHash));
    let found = served.look_up(&hash).await;
    assert_eq!(found["status"], "SUCCESS");
    assert_ne!(found["txHash"], *hash);
    assert_eq!(found["txHash"].as_str().unwrap().len(), 64);
    let answer = served.send(&payment(2, &root(), 1)).await;
    served.rules(Vec::new());
    let again = served.send(&payment(2, &root(), 1)).await;
    assert_eq!(again["status"], "DUPLICATE");
    assert_ne!(answer["hash"], again["hash"]);
}

#[tokio::test]
async fn one_envelope_is_picked_by_its_hash() {
    let served = Served::by_hand().await;
    let (alice, bob) = (Key::named("alice"), Key::named("bob"));
    served.create(1, &[&alice, &bob]).await;
    let first = (11 << 32) + 1;
    let of = |key: &Key| {
        let tx = transaction(key, first, 100, vec![crate::common::pay(&root(), 1)]);
        (
            crate::common::tx_hash(&tx),
            TransactionEnvelope::Tx(signed(&tx, &[key])),
        )
    };
    let (picked, envelope) = of(&alice);
    served.rules(vec![Rule::Call(CallRule {
        methods: Vec::new(),
        hashes: Hashes::Listed(vec![picked.clone()]),
        when: When::Always,
        fault: Fault::TryAgainLater { taken: false },
    })]);
    assert_eq!(served.send(&of(&bob).1).await["status"], "PENDING");
    assert_eq!(served.send(&envelope).await["status"], "TRY_AGAIN_LATER");
    assert_eq!(served.node.inspect(Network::pending), 1);
    let report = served.node.faults();
    assert_eq!(report.hits.len(), 1);
    assert_eq!(report.hits[0].hash, picked);
}

#[tokio::test]
async fn of_two_faults_that_contradict_each_other_the_earlier_one_applies() {
    let served = Served::by_hand().await;
    let unknown = Fault::UnknownStatus { taken: false };
    let later = Fault::TryAgainLater { taken: true };
    served.rules(
        [unknown, later]
            .map(|fault| always(fault)[0].clone())
            .to_vec(),
    );
    let answer = served.send(&payment(1, &root(), 1)).await;
    assert_eq!(answer["status"], "ENQUEUED");
    assert_eq!(served.node.inspect(Network::pending), 0);
}
