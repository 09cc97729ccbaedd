//! Envelopes that this node drops or never proposes, and that another one gets into a ledger later.

use crate::common::{START, pay, root, signed, transaction};
use crate::support::{Served, base64, payment};
use serde_json::json;
use stellar_xdr::{
    LedgerBounds, Preconditions, PreconditionsV2, TimeBounds, TimePoint, TransactionEnvelope,
};
use tender_devnet::faults::{Fault, Loss, Release, Rule, When};
use tender_devnet::network::Network;
use tender_devnet::rpc::Method;

async fn holding(until: Release, dropped: bool) -> Served {
    let served = Served::by_hand().await;
    let fault = Fault::Held { until, dropped };
    served.rules(vec![Rule::call(fault, &[], When::Nth(1))]);
    served
}

fn bounded(cond: Preconditions) -> TransactionEnvelope {
    let mut tx = transaction(&root(), 1, 100, vec![pay(&root(), 1)]);
    tx.cond = cond;
    TransactionEnvelope::Tx(signed(&tx, &[&root()]))
}

#[tokio::test]
async fn an_envelope_is_included_only_some_ledgers_later() {
    let served = holding(Release::After(2), false).await;
    let envelope = payment(1, &root(), 1);
    let hash = served.send_ok(&envelope).await;
    for _ in 0..2 {
        served.node.close_ledger();
        assert_eq!(served.look_up(&hash).await["status"], "NOT_FOUND");
        assert_eq!(served.send(&envelope).await["status"], "DUPLICATE");
    }
    served.node.close_ledger();
    let found = served.look_up(&hash).await;
    assert_eq!(
        (&found["status"], &found["ledger"]),
        (&"SUCCESS".into(), &13.into())
    );
    assert_eq!(served.send(&envelope).await["status"], "TRY_AGAIN_LATER");
}

#[tokio::test]
async fn this_node_drops_what_another_one_includes() {
    let served = holding(Release::After(1), true).await;
    let envelope = payment(1, &root(), 1);
    let hash = served.send_ok(&envelope).await;
    assert_eq!(served.node.inspect(Network::pending), 0);
    assert_eq!(served.send(&envelope).await["status"], "TRY_AGAIN_LATER");
    served.node.close_ledger();
    assert_eq!(served.look_up(&hash).await["status"], "NOT_FOUND");
    served.node.close_ledger();
    assert_eq!(served.look_up(&hash).await["status"], "SUCCESS");
}

#[tokio::test]
async fn inclusion_waits_for_the_last_ledger_that_a_time_bound_allows() {
    let served = holding(Release::LastValid, false).await;
    let time_bounds = TimeBounds {
        min_time: TimePoint(0),
        max_time: TimePoint(START + 62),
    };
    let envelope = bounded(Preconditions::Time(time_bounds));
    let hash = served.send_ok(&envelope).await;
    for step in 1..12 {
        served.node.close_ledger_at(START + 5 * step);
        assert_eq!(served.look_up(&hash).await["status"], "NOT_FOUND", "{step}");
        // This node forgets it after four ledgers, as it forgets every transaction.
        let expected = if step < 4 {
            "DUPLICATE"
        } else {
            "TRY_AGAIN_LATER"
        };
        assert_eq!(served.send(&envelope).await["status"], expected, "{step}");
    }
    served.node.close_ledger_at(START + 60);
    let found = served.look_up(&hash).await;
    assert_eq!(found["status"], "SUCCESS");
    assert_eq!(found["createdAt"], (START + 60).to_string());
}

#[tokio::test]
async fn inclusion_waits_for_the_last_ledger_that_a_ledger_bound_allows() {
    let served = holding(Release::LastValid, true).await;
    let envelope = bounded(Preconditions::V2(PreconditionsV2 {
        time_bounds: None,
        ledger_bounds: Some(LedgerBounds {
            min_ledger: 0,
            max_ledger: 16,
        }),
        min_seq_num: None,
        min_seq_age: stellar_xdr::Duration(0),
        min_seq_ledger_gap: 0,
        extra_signers: Vec::new().try_into().unwrap(),
    }));
    let hash = served.send_ok(&envelope).await;
    for _ in 11..15 {
        served.node.close_ledger();
        assert_eq!(served.look_up(&hash).await["status"], "NOT_FOUND");
    }
    assert_eq!(served.node.close_ledger().sequence, 15);
    assert_eq!(served.look_up(&hash).await["ledger"], 15);
}

#[tokio::test]
async fn what_is_held_dies_when_its_sequence_number_is_used() {
    let served = holding(Release::After(3), true).await;
    let held = served.send_ok(&payment(1, &root(), 1)).await;
    let other = served.send_ok(&payment(1, &root(), 2)).await;
    for _ in 0..6 {
        served.node.close_ledger();
    }
    assert_eq!(served.look_up(&other).await["ledger"], 11);
    assert_eq!(served.look_up(&held).await["status"], "NOT_FOUND");
    let included = |network: &Network| -> usize {
        network
            .ledgers()
            .map(|ledger| ledger.transactions.len())
            .sum()
    };
    assert_eq!(served.node.inspect(included), 1);
}

#[tokio::test]
async fn a_proxy_gives_up_and_the_envelope_gets_in_much_later() {
    let served = Served::by_hand().await;
    let held = Fault::Held {
        until: Release::After(5),
        dropped: true,
    };
    let lost = Fault::AnswerLostAfterAccept(Loss::GatewayTimeout);
    let rules =
        [held, lost].map(|fault| Rule::call(fault, &[Method::SendTransaction], When::Nth(1)));
    served.rules(rules.to_vec());
    let envelope = payment(1, &root(), 1);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "sendTransaction",
        "params": {"transaction": base64(&envelope)}});
    assert_eq!(served.post(request.to_string()).await.status(), 504);
    let hash = hex::encode(served.node.faults().hits[0].hash.0);
    for _ in 0..5 {
        served.node.close_ledger();
        assert_eq!(served.look_up(&hash).await["status"], "NOT_FOUND");
    }
    served.node.close_ledger();
    assert_eq!(served.look_up(&hash).await["status"], "SUCCESS");
}
