use super::*;
use crate::stellar::inspect::inspect;
use crate::stellar::recorded::{PASSPHRASE, PAYMENTS};

fn network() -> NetworkId {
    NetworkId::new(PASSPHRASE)
}

fn event(text: &str) -> xdr::ContractEvent {
    convert::read(text).expect("an event")
}

/// Envelope in, event out: what is expected of an envelope is what a real node recorded for it.
#[test]
fn expected_effects_are_those_that_a_node_recorded() {
    for (name, hash, envelope, recorded) in PAYMENTS {
        let inspected = inspect(&network(), envelope).expect(name);
        assert_eq!(inspected.hash.to_string(), hash, "{name}");
        let recorded = of_event(&event(recorded)).expect(name);
        assert_eq!(inspected.effects, [recorded], "{name}");
        let (payer, operation) = inspected.operation.expect(name);
        assert_eq!(expected(&network(), payer, &operation), recorded, "{name}");
    }
}

#[test]
fn issuers_mint_and_burn_and_the_contract_depends_on_the_network() {
    let movement = |name: &str| {
        let (.., recorded) = PAYMENTS
            .into_iter()
            .find(|(payment, ..)| *payment == name)
            .expect("recorded");
        of_event(&event(recorded)).expect("an effect").movement
    };
    assert!(matches!(
        movement("pay_asset: issuer mints"),
        Movement::Mint { .. }
    ));
    assert!(matches!(
        movement("pay_asset: back to the issuer"),
        Movement::Burn { .. }
    ));
    assert!(matches!(
        movement("create_account: new, 5"),
        Movement::Transfer { .. }
    ));
    let elsewhere = NetworkId::new("elsewhere");
    assert_ne!(
        contract_of(&network(), &Asset::Native),
        contract_of(&elsewhere, &Asset::Native)
    );
}

/// Each part of an effect tells it from another.
#[test]
fn a_change_of_any_part_makes_another_effect() {
    let (.., recorded) = PAYMENTS[0];
    let effect = of_event(&event(recorded)).expect("an effect");
    let Movement::Transfer { from, to } = effect.movement else {
        panic!("a transfer")
    };
    let others = [
        Effect {
            contract: [0; 32],
            ..effect
        },
        Effect {
            movement: Movement::Transfer { from: to, to: from },
            ..effect
        },
        Effect {
            movement: Movement::Mint { to },
            ..effect
        },
        Effect {
            amount: Amount::from_units(1).expect("positive"),
            ..effect
        },
    ];
    for other in others {
        assert_ne!(effect, other);
    }
}

#[test]
fn events_of_other_kinds_are_no_effects() {
    let (.., recorded) = PAYMENTS[0];
    let good = event(recorded);
    let xdr::ContractEventBody::V0(body) = &good.body;
    let with = |topics: Vec<xdr::ScVal>, data: xdr::ScVal| of_parts([0; 32], &topics, &data);
    let topics = body.topics.to_vec();
    assert!(with(topics.clone(), body.data.clone()).is_some());
    let mut approve = topics.clone();
    approve[0] = xdr::ScVal::Symbol("approve".try_into().expect("a symbol"));
    let mut to_contract = topics.clone();
    to_contract[2] = xdr::ScVal::Address(xdr::ScAddress::Contract(xdr::ContractId(xdr::Hash(
        [1; 32],
    ))));
    let huge = xdr::ScVal::from(i128::from(i64::MAX) + 1);
    for (topics, data) in [
        (vec![], body.data.clone()),
        (topics[..3].to_vec(), body.data.clone()),
        (approve, body.data.clone()),
        (to_contract, body.data.clone()),
        (topics.clone(), huge),
        (topics.clone(), xdr::ScVal::from(-1_i128)),
        (topics, xdr::ScVal::Void),
    ] {
        assert_eq!(with(topics, data), None);
    }
}
