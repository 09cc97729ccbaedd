//! Envelopes, look-ups, snapshots and scans against the ledger rules of a simulated network.

use std::time::Duration;

use tender::domain::classify::{Fault, Refusal, SendAnswer};
use tender::domain::codes::{CreateAccountCode, Failure, OpFailure, PaymentCode, TxCode};
use tender::domain::ids::{AccountId, TxHash};
use tender::domain::key::KeyTag;
use tender::domain::operation::{Asset, Destination, Memo, MemoText, Operation, Payment};
use tender::domain::plan::{AccountState, Effect, Finding};
use tender::stellar::fee_bump::fee_bump;
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::{Consumer, EventCursor, Watch};
use tender::stellar::signer::Signer;
use tender_devnet::faults::{FaultPlan, Loss};

use crate::net::{
    FIRST_SEQUENCE, Net, channel, creating, issuer, own, payee, paying, stranger, treasury, usd,
};
use crate::support::PASSPHRASE;
use crate::support::{NEVER, client};

fn refused(failure: Failure, fee_charged: i64) -> SendAnswer {
    SendAnswer::Refused(Refusal {
        failure,
        fee_charged,
    })
}

const MATCHED: Finding = Finding::Success(Effect::Matched);

#[tokio::test]
async fn a_payment_is_taken_lands_and_is_seen_every_way_there_is() {
    let net = Net::start().await;
    let start = net.rpc.latest().await.unwrap();
    let operation = paying(Asset::Native, payee(), "1.5");
    let envelope = net.build(&channel(0), 1, &operation).await;
    let again = || net.rpc.send_transaction(envelope.hash, &envelope.xdr);
    let sent = again().await;
    assert_eq!((sent.answer, sent.seen), (SendAnswer::Pending, Some(start)));
    assert_eq!(again().await.answer, SendAnswer::Duplicate);
    let absent = net.look(&envelope, &operation).await;
    assert_eq!((absent.finding, absent.ledger), (Finding::NotFound, None));

    let closed_at = net.close();
    let ledger = start.ledger + 1;
    assert_eq!(again().await.answer, SendAnswer::TryAgainLater);
    let found = net.look(&envelope, &operation).await;
    assert_eq!(found.finding, MATCHED);
    assert_eq!(
        (found.ledger, found.closed_at, found.fee_charged),
        (Some(ledger), Some(closed_at), Some(100))
    );
    let other = paying(Asset::Native, payee(), "1.6");
    let mistaken = net.look(&envelope, &other).await;
    assert_eq!(mistaken.finding, Finding::Success(Effect::Missing));

    let accounts = [channel(0).account(), channel(1).account(), stranger()];
    let page = &net.rpc.accounts(&accounts).await.unwrap()[0];
    assert_eq!(page.ledger, ledger);
    let states: Vec<_> = page.accounts.iter().map(|(_, state)| *state).collect();
    let present = |sequence, since_ledger| AccountState::Present {
        sequence,
        since_ledger,
    };
    assert_eq!(
        states,
        [
            present(FIRST_SEQUENCE + 1, Some(ledger)),
            present(FIRST_SEQUENCE, None),
            AccountState::Absent
        ]
    );

    let watch = Watch::over(&net.id, treasury().account(), [&operation]);
    let page = net
        .rpc
        .effects_since(&EventCursor::Start(start.ledger), &watch)
        .await
        .unwrap();
    let landed = &page.effects[..];
    assert_eq!(landed.len(), 1);
    assert_eq!((landed[0].hash, landed[0].ledger), (envelope.hash, ledger));
    assert_eq!(landed[0].effect, net.effect(&operation));
    assert_eq!(landed[0].closed_at, closed_at);
    let later = net.rpc.effects_since(&page.cursor, &watch).await.unwrap();
    assert_eq!(later.effects, []);

    let scan = net.rpc.consumer(envelope.pair, start.ledger, ledger).await;
    let Ok(Consumer::Found(consumed)) = scan else {
        panic!("{scan:?}")
    };
    assert_eq!((consumed.ledger, consumed.success), (ledger, true));
    assert_eq!(consumed.inspected.tag, Some(KeyTag(41)));
    assert_eq!(
        consumed.inspected.operation,
        Some((treasury().account(), operation))
    );
}

#[tokio::test]
async fn the_nodes_tell_the_passphrase_that_signatures_are_made_for() {
    let net = Net::start().await;
    assert_eq!(net.rpc.passphrase().await.unwrap(), PASSPHRASE);
    let operation = paying(Asset::Native, payee(), "1");
    let elsewhere = NetworkId::new("another network");
    let envelope = net.build_for(&elsewhere, &channel(0), 1, &operation).await;
    let sent = net.rpc.send_transaction(envelope.hash, &envelope.xdr).await;
    assert!(
        matches!(sent.answer, SendAnswer::Unknown(_)),
        "the node hashes it otherwise: {sent:?}"
    );
}

/// Memos, muxed payees, issued assets, minting, burning, new accounts: each is applied with the event expected of it.
#[tokio::test]
async fn every_kind_of_operation_leaves_the_event_that_is_expected_of_it() {
    let net = Net::start().await;
    let text = MemoText::new("thank you, twenty-eight byte").unwrap();
    let with = |memo: Option<Memo>, muxed_id: Option<u64>, asset: Asset| {
        Operation::Payment(Payment {
            destination: Destination {
                account: payee(),
                muxed_id,
            },
            asset,
            amount: "0.0000001".parse().unwrap(),
            memo,
        })
    };
    let operations = [
        with(Some(Memo::Text(text)), None, Asset::Native),
        with(Some(Memo::Id(u64::MAX)), None, Asset::Native),
        with(Some(Memo::Hash([7; 32])), None, usd()),
        with(Some(Memo::Return([8; 32])), None, Asset::Native),
        with(None, Some(12), usd()),
        with(None, None, own()),
        with(Some(Memo::Id(1)), Some(2), own()),
        paying(usd(), issuer(), "1"),
        paying(Asset::Native, treasury().account(), "1"),
        creating(stranger(), "2", Some(Memo::Id(3))),
    ];
    let start = net.rpc.latest().await.unwrap().ledger;
    let mut expected = Vec::new();
    for (nth, operation) in (1..).zip(&operations) {
        let envelope = net.build(&channel(0), nth, operation).await;
        let sent = net.rpc.send_transaction(envelope.hash, &envelope.xdr).await;
        assert_eq!(sent.answer, SendAnswer::Pending, "{operation:?}");
        net.close();
        let found = net.look(&envelope, operation).await;
        assert_eq!(found.finding, MATCHED, "{operation:?}");
        expected.push((envelope.hash, net.effect(operation)));
    }
    let watch = Watch::over(&net.id, treasury().account(), &operations);
    let start = EventCursor::Start(start);
    let page = net.rpc.effects_since(&start, &watch).await.unwrap();
    let landed: Vec<_> = page
        .effects
        .iter()
        .map(|landed| (landed.hash, landed.effect))
        .collect();
    assert_eq!(landed, expected);
}

#[tokio::test]
async fn a_fee_bump_replaces_what_waits_and_is_found_by_both_hashes() {
    let net = Net::start().await;
    let start = EventCursor::Start(net.rpc.latest().await.unwrap().ledger);
    let operation = paying(Asset::Native, payee(), "1");
    let plain = net.build(&channel(0), 1, &operation).await;
    let bump = async |fee| {
        fee_bump(&net.id, &plain.xdr, &treasury(), fee)
            .await
            .unwrap()
    };
    let send = async |hash: TxHash, xdr: &str| net.rpc.send_transaction(hash, xdr).await.answer;
    assert_eq!(send(plain.hash, &plain.xdr).await, SendAnswer::Pending);
    let low = bump(1999).await;
    let required = refused(Failure::Tx(TxCode::InsufficientFee), 2000);
    assert_eq!(send(low.hash, &low.xdr).await, required);
    let high = bump(2000).await;
    assert_eq!(send(high.hash, &high.xdr).await, SendAnswer::Pending);
    assert_eq!(send(plain.hash, &plain.xdr).await, SendAnswer::Duplicate);
    net.close();
    for envelope in [&plain, &high] {
        let found = net.look(envelope, &operation).await;
        assert_eq!((found.finding, found.fee_charged), (MATCHED, Some(200)));
    }
    let absent = net.look(&low, &operation).await;
    assert_eq!(absent.finding, Finding::NotFound);
    let watch = Watch::over(&net.id, treasury().account(), [&operation]);
    let page = net.rpc.effects_since(&start, &watch).await.unwrap();
    assert_eq!(page.effects[0].hash, high.hash);
}

#[tokio::test]
async fn failures_in_a_ledger_are_told_also_through_a_fee_bump() {
    let net = Net::start().await;
    let payment = |code| Finding::Failed(Failure::Op(OpFailure::Payment(code)));
    let exists = CreateAccountCode::AlreadyExist;
    let table = [
        (
            paying(Asset::Native, stranger(), "1"),
            payment(PaymentCode::NoDestination),
        ),
        (
            paying(Asset::Native, payee(), "9999"),
            payment(PaymentCode::Underfunded),
        ),
        (paying(own(), issuer(), "1"), payment(PaymentCode::NoTrust)),
        (
            creating(payee(), "5", None),
            Finding::Failed(Failure::Op(OpFailure::CreateAccount(exists))),
        ),
    ];
    for (nth, (operation, failure)) in (1..).zip(table) {
        let plain = net.build(&channel(0), nth, &operation).await;
        let bumped = net.build(&channel(1), nth, &operation).await;
        let bumped = fee_bump(&net.id, &bumped.xdr, &treasury(), 200)
            .await
            .unwrap();
        for envelope in [&plain, &bumped] {
            let sent = net.rpc.send_transaction(envelope.hash, &envelope.xdr).await;
            assert_eq!(sent.answer, SendAnswer::Pending, "{operation:?}");
        }
        net.close();
        for (envelope, fee) in [(&plain, 100), (&bumped, 200)] {
            let found = net.look(envelope, &operation).await;
            assert_eq!(found.finding, failure, "{operation:?}");
            assert_eq!(found.fee_charged, Some(fee));
        }
        let sequence = net.rpc.account_sequence(channel(0).account()).await;
        assert_eq!(sequence, Ok(Some(FIRST_SEQUENCE + nth)), "it was used");
    }
}

#[tokio::test]
async fn what_an_account_holds_is_read_in_stroops() {
    let net = Net::start().await;
    let held = async |account| net.rpc.native_balance(account).await.unwrap();
    let before = held(payee()).await.unwrap();
    let envelope = net
        .build(&channel(0), 1, &paying(Asset::Native, payee(), "1.5"))
        .await;
    net.rpc.send_transaction(envelope.hash, &envelope.xdr).await;
    net.close();
    assert_eq!(held(payee()).await, Some(before + 15_000_000));
    assert_eq!(held(AccountId([77; 32])).await, None, "no such account");
}

#[tokio::test]
async fn refusals_are_told_by_their_codes() {
    let net = Net::start().await;
    let operation = paying(Asset::Native, payee(), "1");
    let gap = net.build(&channel(0), 2, &operation).await;
    let nobody = Signer::from_seed(&[77; 32]);
    let absent = net.build(&nobody, 1, &operation).await;
    let early = net.build(&channel(1), 1, &operation).await;
    for _ in 0..25 {
        net.close();
    }
    let table = [
        (gap, TxCode::TooLate),
        (absent, TxCode::TooLate),
        (early, TxCode::TooLate),
        (net.build(&channel(0), 2, &operation).await, TxCode::BadSeq),
        (net.build(&nobody, 1, &operation).await, TxCode::NoAccount),
    ];
    for (envelope, code) in table {
        let sent = net.rpc.send_transaction(envelope.hash, &envelope.xdr).await;
        let SendAnswer::Refused(refusal) = sent.answer else {
            panic!("{sent:?}")
        };
        assert_eq!(refusal.failure, Failure::Tx(code));
    }
}

/// Whatever way an answer is lost in, and whether the network had the envelope or not: the same bytes again, one effect.
#[tokio::test]
async fn a_lost_answer_is_a_fault_of_its_kind_and_sending_again_pays_once() {
    let losses = [
        (Loss::Reset, Fault::Reset),
        (Loss::GatewayTimeout, Fault::Http(504)),
        (Loss::Hang, Fault::Timeout),
    ];
    for (loss, fault) in losses {
        let net = Net::start().await;
        let start = EventCursor::Start(net.rpc.latest().await.unwrap().ledger);
        let impatient = client(
            std::slice::from_ref(&net.url),
            Duration::from_millis(200),
            NEVER,
        );
        let operation = paying(Asset::Native, payee(), "1");
        net.node.set_faults(FaultPlan::seeded(1, 1000, &[loss]));
        let mut envelopes = Vec::new();
        for number in 0..2 {
            let envelope = net.build(&channel(number), 1, &operation).await;
            let sent = impatient
                .send_transaction(envelope.hash, &envelope.xdr)
                .await;
            assert_eq!(sent.answer, SendAnswer::Unknown(fault), "{loss:?}");
            envelopes.push(envelope);
        }
        let report = net.node.faults();
        assert_eq!((report.after_accept, report.before_accept), (1, 1));
        net.node.set_faults(FaultPlan::none());
        let mut answers = Vec::new();
        for envelope in &envelopes {
            answers.push(
                net.rpc
                    .send_transaction(envelope.hash, &envelope.xdr)
                    .await
                    .answer,
            );
        }
        for answer in [SendAnswer::Pending, SendAnswer::Duplicate] {
            assert!(answers.contains(&answer), "{answers:?}");
        }
        net.close();
        let watch = Watch::over(&net.id, treasury().account(), [&operation]);
        let page = net.rpc.effects_since(&start, &watch).await.unwrap();
        assert_eq!(page.effects.len(), envelopes.len());
    }
}
