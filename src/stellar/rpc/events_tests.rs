use super::*;
use crate::domain::operation::{Destination, Payment};
use crate::stellar::recorded::{PASSPHRASE, PAYMENTS};

fn network() -> NetworkId {
    NetworkId::new(PASSPHRASE)
}

fn paying(asset: &str) -> Operation {
    Operation::Payment(Payment {
        destination: Destination {
            account: AccountId([9; 32]),
            muxed_id: None,
        },
        asset: asset.parse().expect("an asset"),
        amount: "1".parse().expect("an amount"),
        memo: None,
    })
}

/// The recorded payment's event as `getEvents` gives it.
fn item(payment: usize) -> (Item, Effect) {
    let (_, hash, _, event) = PAYMENTS[payment];
    let event: xdr::ContractEvent = convert::read(event).expect("an event");
    let xdr::ContractEventBody::V0(body) = &event.body;
    let contract = event.contract_id.as_ref().expect("a contract").0.0;
    let item = Item {
        ledger: 12,
        ledger_closed_at: "2026-01-01T00:00:55Z".to_owned(),
        contract_id: stellar_strkey::Contract(contract).to_string(),
        tx_hash: hash.to_owned(),
        topic: body.topics.iter().map(convert::write).collect(),
        value: convert::write(&body.data),
    };
    (item, effect::of_event(&event).expect("an effect"))
}

#[test]
fn every_recorded_payment_is_recognized_as_it_lands() {
    for (index, (name, hash, ..)) in PAYMENTS.into_iter().enumerate() {
        let (item, effect) = item(index);
        let expected = Landed {
            hash: hash.parse().expect("a hash"),
            effect,
            ledger: 12,
            closed_at: 1_767_225_655,
        };
        assert_eq!(landed(&item), Some(expected), "{name}");
    }
}

#[test]
fn an_event_that_cannot_be_read_is_passed_over() {
    let good = || item(0).0;
    let odd = [
        Item {
            contract_id: "C".to_owned(),
            ..good()
        },
        Item {
            topic: vec!["AAAA".to_owned()],
            ..good()
        },
        Item {
            value: String::new(),
            ..good()
        },
        Item {
            tx_hash: "00".to_owned(),
            ..good()
        },
        Item {
            ledger_closed_at: "yesterday".to_owned(),
            ..good()
        },
    ];
    for item in odd {
        assert_eq!(landed(&item), None);
    }
}

#[test]
fn minting_is_watched_for_the_treasurys_own_assets_only_and_within_the_limits_of_a_call() {
    let treasury = AccountId([1; 32]);
    let other = AccountId([2; 32]);
    let foreign = [paying("native"), paying(&format!("USDC:{other}"))];
    let watch = Watch::over(&network(), treasury, &foreign);
    assert_eq!(watch.filters().len(), 1, "transfers and burns");
    let own: Vec<_> = (0..30)
        .map(|number| paying(&format!("A{number}:{treasury}")))
        .collect();
    let twice = own.iter().chain(&own);
    let filters = Watch::over(&network(), treasury, twice).filters();
    assert_eq!(filters.len(), FILTERS);
    for filter in &filters[1..] {
        assert_eq!(
            filter["contractIds"].as_array().map(Vec::len),
            Some(CONTRACTS_OF_FILTER)
        );
    }
}

#[test]
fn the_filter_on_payments_names_the_treasury_as_their_source() {
    let treasury = AccountId([1; 32]);
    let filters = Watch::over(&network(), treasury, &[]).filters();
    let topics: Vec<Vec<String>> =
        serde_json::from_value(filters[0]["topics"].clone()).expect("topics");
    for topic in topics {
        let source: xdr::ScVal = convert::read(&topic[1]).expect("a topic");
        let account = xdr::ScAddress::Account(convert::account(treasury));
        assert_eq!(source, xdr::ScVal::Address(account));
        assert!(topic[2..].iter().all(|segment| segment == "*"));
    }
}
