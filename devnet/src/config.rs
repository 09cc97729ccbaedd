//! Parameters of a simulated network.

use crate::xdr::{account_id, sha256};
use ed25519_dalek::SigningKey;
use std::time::{SystemTime, UNIX_EPOCH};
use stellar_xdr::{AccountId, Hash, LedgerEntry, LedgerKey};

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

impl NetworkConfig {
    /// A new network for development that starts now: protocol 26, the public network's fees and limits, and the
    /// root account with all lumens.
    #[must_use]
    pub fn development(passphrase: &str) -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(1, |since| since.as_secs());
        Self {
            passphrase: passphrase.to_owned(),
            protocol: 26,
            base_fee: 100,
            base_reserve: 5_000_000,
            max_tx_set_ops: 1000,
            target_close_time_s: 5,
            start_ledger: 1,
            start_close_time: now,
            initial_state: Vec::new(),
            history_window: 120_960,
        }
    }

    /// SHA-256 of the passphrase.
    #[must_use]
    pub fn network_id(&self) -> Hash {
        sha256(&[self.passphrase.as_bytes()])
    }

    /// Ed25519 seed of the root account: the network id. Everybody knows it, as on every private network.
    #[must_use]
    pub fn root_seed(&self) -> [u8; 32] {
        self.network_id().0
    }

    /// The account that holds all lumens of a new network.
    #[must_use]
    pub fn root_account(&self) -> AccountId {
        let key = SigningKey::from_bytes(&self.root_seed());
        account_id(key.verifying_key().to_bytes())
    }
}
