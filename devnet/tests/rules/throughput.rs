//! The simulation is fast enough for load tests, also in a development build.

use crate::common::{Key, LUMEN, World, config, pay, root, signed, transaction};
use std::time::{Duration, Instant};
use stellar_xdr::{Limits, TransactionEnvelope, WriteXdr};

const ACCOUNTS: usize = 100;
const LEDGERS: usize = 10;

#[test]
fn hundreds_of_transactions_a_second() {
    let keys: Vec<Key> = (0..ACCOUNTS)
        .map(|i| Key::named(&format!("load {i}")))
        .collect();
    let funded: Vec<(&Key, i64)> = keys.iter().map(|key| (key, 100 * LUMEN)).collect();
    let mut world = World::with_accounts(config(), &funded);
    let mut spent = Duration::ZERO;
    for _ in 0..LEDGERS {
        let envelopes: Vec<Vec<u8>> = keys
            .iter()
            .map(|key| {
                let tx = transaction(key, world.next_sequence(key), 100, vec![pay(&root(), 1)]);
                let envelope = TransactionEnvelope::Tx(signed(&tx, &[key]));
                envelope.to_xdr(Limits::none()).unwrap()
            })
            .collect();
        let start = Instant::now();
        for envelope in &envelopes {
            world.network.submit(envelope).unwrap();
        }
        assert_eq!(world.close().transactions.len(), ACCOUNTS);
        spent += start.elapsed();
    }
    let rate = (ACCOUNTS * LEDGERS) as u128 * 1000 / spent.as_millis().max(1);
    println!("{rate} transactions a second");
    // A development build on two idle cores does ten times as many.
    assert!(rate >= 100, "only {rate} transactions a second");
}
