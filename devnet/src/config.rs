//! Parameters of a simulated network.

use stellar_xdr::{LedgerEntry, LedgerKey};

/// Everything that distinguishes one simulated network from another.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// Network passphrase; its SHA-256 is the network id, and the root account's key derives from it.
    pub passphrase: String,
    /// Protocol version written into ledger headers and RPC answers.
    pub protocol: u32,
    /// Minimum fee of one operation, in stroops.
    pub base_fee: u32,
    /// Reserve of one ledger entry, in stroops.
    pub base_reserve: u32,
    /// Operations of classic transactions a ledger takes; the queue holds twice as many.
    pub max_tx_set_ops: u32,
    /// Target close time in seconds; twice this is how early an expiring envelope is refused.
    pub target_close_time_s: u64,
    /// Sequence of the last ledger closed before the simulation starts.
    pub start_ledger: u32,
    /// Close time of that ledger, in unix seconds.
    pub start_close_time: u64,
    /// Entries that exist at the start; empty means the root account with all lumens.
    pub initial_state: Vec<(LedgerKey, LedgerEntry)>,
    /// Ledgers kept for look-ups; older transactions, events and ledgers are forgotten.
    pub history_window: u32,
}
