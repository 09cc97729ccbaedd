//! `getFeeStats`.

use super::error::RpcError;
use super::params::FormatOnly;
use super::view::View;
use serde_json::{Map, Value, json};

/// Ledgers the classic statistics look back.
const CLASSIC_LEDGERS: usize = 10;

/// Fees charged per operation in the last ledgers, in stroops; all zero without traffic. A fee-bump's fee is divided by
/// the operations of its inner transaction only. No Soroban transactions run here, so theirs are always zero.
pub fn get_fee_stats(view: &View<'_>, params: Value) -> Result<Value, RpcError> {
    FormatOnly::check(params)?;
    let ledgers: Vec<_> = view.newest_first().take(CLASSIC_LEDGERS).collect();
    let mut fees: Vec<u64> = ledgers
        .iter()
        .flat_map(|ledger| &ledger.transactions)
        .filter_map(|tx| {
            let operations = u64::try_from(tx.operation_count()).ok()?;
            u64::try_from(tx.fee_charged())
                .ok()?
                .checked_div(operations)
        })
        .collect();
    // A ledger at a raised fee without a transaction was full of others that are not simulated.
    let minimum = i64::from(view.network().config().base_fee);
    fees.extend(
        ledgers
            .iter()
            .filter(|ledger| ledger.transactions.is_empty() && ledger.base_fee > minimum)
            .filter_map(|ledger| u64::try_from(ledger.base_fee).ok()),
    );
    Ok(json!({
        "sorobanInclusionFee": distribution(Vec::new(), 0),
        "inclusionFee": distribution(fees, ledgers.len()),
        "latestLedger": view.latest_ledger(),
    }))
}

fn distribution(mut fees: Vec<u64>, ledgers: usize) -> Value {
    fees.sort_unstable();
    let mut stats = Map::new();
    let mut put = |name: &str, value: u64| stats.insert(name.to_owned(), value.to_string().into());
    put("max", fees.last().copied().unwrap_or(0));
    put("min", fees.first().copied().unwrap_or(0));
    put("mode", mode(&fees));
    for percent in [10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99] {
        put(&format!("p{percent}"), percentile(&fees, percent));
    }
    stats.insert("transactionCount".into(), fees.len().to_string().into());
    let ledgers = if fees.is_empty() { 0 } else { ledgers };
    stats.insert("ledgerCount".into(), ledgers.into());
    Value::Object(stats)
}

/// The most frequent of sorted values; the least of several.
fn mode(sorted: &[u64]) -> u64 {
    let mut best = (0, 0);
    for run in sorted.chunk_by(|a, b| a == b) {
        if run.len() > best.0 {
            best = (run.len(), run[0]);
        }
    }
    best.1
}

/// Nearest-rank percentile of sorted values.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (percent * sorted.len()).div_ceil(100);
    rank.checked_sub(1)
        .and_then(|index| sorted.get(index))
        .copied()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_nearest_and_the_mode_is_the_least_of_the_most_frequent() {
        let stats = distribution(vec![300, 100, 200, 100, 200], 10);
        assert_eq!(stats["mode"], "100");
        assert_eq!(stats["p10"], "100");
        assert_eq!(stats["p50"], "200");
        assert_eq!(stats["p99"], "300");
        assert_eq!(stats["transactionCount"], "5");
        assert_eq!(stats["ledgerCount"], 10);
    }
}
