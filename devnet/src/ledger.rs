//! Ledger headers and the hashes in them.

use crate::config::NetworkConfig;
use crate::history::{AppliedTransaction, ClosedLedger};
use crate::xdr::{list, sha256, to_bytes};
use stellar_xdr::{
    GeneralizedTransactionSet, Hash, LedgerHeader, LedgerHeaderExt, ParallelTxsComponent,
    StellarValue, StellarValueExt, TimePoint, TransactionPhase, TransactionResultPair,
    TransactionResultSet, TransactionSetV1, TxSetComponent, TxSetComponentTxsMaybeDiscountedFee,
};

/// All lumens there are, in stroops.
pub const TOTAL_COINS: i64 = 1_000_000_000_000_000_000;

/// The ledger the simulation starts from, without transactions.
pub fn first(config: &NetworkConfig, fee_pool: i64) -> ClosedLedger {
    let nothing = Hash([0; 32]);
    let header = LedgerHeader {
        ledger_version: config.protocol,
        previous_ledger_hash: nothing.clone(),
        scp_value: agreed(nothing.clone(), config.start_close_time),
        tx_set_result_hash: nothing.clone(),
        bucket_list_hash: nothing.clone(),
        ledger_seq: config.start_ledger,
        total_coins: TOTAL_COINS,
        fee_pool,
        inflation_seq: 0,
        id_pool: 0,
        base_fee: config.base_fee,
        base_reserve: config.base_reserve,
        max_tx_set_size: config.max_tx_set_ops,
        skip_list: [nothing.clone(), nothing.clone(), nothing.clone(), nothing],
        ext: LedgerHeaderExt::V0,
    };
    ClosedLedger {
        hash: sha256(&[&to_bytes(&header)]),
        header,
        transactions: Vec::new(),
        base_fee: i64::from(config.base_fee),
    }
}

/// The ledger after `last`.
pub fn next(
    last: &ClosedLedger,
    close_time: u64,
    transactions: Vec<AppliedTransaction>,
    base_fee: i64,
) -> ClosedLedger {
    let fees: i64 = transactions.iter().map(|tx| tx.result.fee_charged).sum();
    let set = transaction_set(&last.hash, &transactions, base_fee);
    let results = TransactionResultSet {
        results: list(
            transactions
                .iter()
                .map(|tx| TransactionResultPair {
                    transaction_hash: tx.hash.clone(),
                    result: tx.result.clone(),
                })
                .collect(),
        ),
    };
    let result_hash = sha256(&[&to_bytes(&results)]);
    let header = LedgerHeader {
        previous_ledger_hash: last.hash.clone(),
        scp_value: agreed(sha256(&[&to_bytes(&set)]), close_time),
        // There is no bucket list; the hash stands for the state all the same, by following all results.
        bucket_list_hash: sha256(&[&last.header.bucket_list_hash.0, &result_hash.0]),
        tx_set_result_hash: result_hash,
        ledger_seq: last.header.ledger_seq + 1,
        fee_pool: last.header.fee_pool.saturating_add(fees),
        ..last.header.clone()
    };
    ClosedLedger {
        hash: sha256(&[&to_bytes(&header)]),
        header,
        transactions,
        base_fee,
    }
}

fn agreed(tx_set_hash: Hash, close_time: u64) -> StellarValue {
    StellarValue {
        tx_set_hash,
        close_time: TimePoint(close_time),
        upgrades: list(Vec::new()),
        ext: StellarValueExt::Basic,
    }
}

/// The set the network agreed on: a classic phase, and a Soroban phase with nothing in it.
pub fn transaction_set(
    previous: &Hash,
    transactions: &[AppliedTransaction],
    base_fee: i64,
) -> GeneralizedTransactionSet {
    let mut sorted: Vec<&AppliedTransaction> = transactions.iter().collect();
    sorted.sort_by_key(|tx| sha256(&[&to_bytes(&tx.envelope)]));
    let components = if sorted.is_empty() {
        Vec::new()
    } else {
        vec![TxSetComponent::TxsetCompTxsMaybeDiscountedFee(
            TxSetComponentTxsMaybeDiscountedFee {
                base_fee: Some(base_fee),
                txs: list(sorted.iter().map(|tx| tx.envelope.clone()).collect()),
            },
        )]
    };
    GeneralizedTransactionSet::V1(TransactionSetV1 {
        previous_ledger_hash: previous.clone(),
        phases: list(vec![
            TransactionPhase::V0(list(components)),
            TransactionPhase::V1(ParallelTxsComponent {
                base_fee: None,
                execution_stages: list(Vec::new()),
            }),
        ]),
    })
}
